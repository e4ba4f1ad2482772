import shutil

import pytest

from browser import FLAGS, MISSING, Page
from kappagcn.view.report import write_report
from report_runs import classified_run, tree_run


@pytest.fixture(scope="session")
def page(tmp_path_factory):
    if MISSING:
        pytest.skip(f"needs {' and '.join(MISSING)}")
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(20)
    yield Page(driver)
    driver.quit()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="session")
def tree(folder):
    run = tree_run(folder / "tree", names=[f"Node-{i}" for i in range(121)])
    return run, write_report(run, folder / "tree.html")


@pytest.fixture(scope="session")
def papers(folder):
    run = classified_run(folder / "papers")
    return run, write_report(run, folder / "papers.html")
