from kappagcn.view.figures.catalogue import draw_run


def names(written):
    return sorted(path.name for path in written)


def test_an_embedding_is_drawn(embedding_run, tmp_path):
    written = draw_run(embedding_run, tmp_path / "out", themes=["dark"])
    drawn = [f"{n}-dark.{f}" for n in ("curvature", "distortion", "embedding", "training") for f in ("png", "svg")]
    assert names(written) == drawn
    again = draw_run(embedding_run, tmp_path / "again", themes=["dark"], formats=["svg"])
    for path in again:
        assert path.read_bytes() == (tmp_path / "out" / path.name).read_bytes()


def test_a_classifier_is_drawn_and_what_it_has_no_numbers_for_is_not(classification_run, tmp_path):
    written = draw_run(classification_run, tmp_path / "out", themes=["light"], formats=["png"])
    assert names(written) == ["confusion-light.png", "embedding-light.png", "training-light.png"]
