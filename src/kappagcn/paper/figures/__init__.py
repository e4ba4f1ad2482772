"""The figures of arXiv:1911.05076, drawn from records or computed."""
