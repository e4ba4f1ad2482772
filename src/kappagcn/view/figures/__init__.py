"""Pictures: read points and records, never train. The only part that imports matplotlib."""
