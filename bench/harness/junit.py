"""The comparisons of a smoke run as a JUnit file, for scripts/test."""

import xml.etree.ElementTree as ElementTree


def write(path, results, suite_name="bench"):
    """`results`: (workload, case, side, None or what is wrong)."""
    suite = ElementTree.Element("testsuite", name=suite_name, tests=str(len(results)))
    for workload, case, side, wrong in results:
        element = ElementTree.SubElement(suite, "testcase", classname=f"{suite_name}.{workload}", name=f"{case}: {side}")
        if wrong is not None:
            ElementTree.SubElement(element, "failure", message=wrong)
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
