from kappagcn.view.palette import short_names


def test_names_of_classes_lose_only_what_is_not_needed():
    assert short_names(["a/b/one", "a/b/two", "a/bc"]) == ["one", "two", "bc"]
    assert short_names(["a/b/one", "a/c/one", "a/d"]) == ["b/one", "c/one", "d"]  # the last part alone is not enough
    assert short_names(["x" * 40])[0].endswith("…")
    assert short_names([]) == []
    assert short_names(["a/", "a/b"]) == ["a/", "b"]
