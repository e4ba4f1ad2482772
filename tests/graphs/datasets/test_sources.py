import os

from kappagcn.graphs import catalogue
from kappagcn.graphs.datasets.raw_formats import READERS


def test_the_catalogue_is_complete_and_safe():
    for name, entry in catalogue().items():
        assert entry.pickled or entry.reader in READERS
        assert len(entry.sha256) == 64
        for files in entry.sources:
            for file in files:
                assert file.url.startswith("https://raw.githubusercontent.com/")
                assert " " not in file.url
                assert file.sha256 or file.git_blob
                assert os.path.basename(file.name) == file.name
        assert entry.title, name
