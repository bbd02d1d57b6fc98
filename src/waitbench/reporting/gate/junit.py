"""The gate's verdict as JUnit's XML, which continuous integration shows as tests."""

from xml.etree import ElementTree

from waitbench.analysis.gate import GateVerdict
from waitbench.reporting.gate.texts import headline, ratio_text, verdict_text
from waitbench.system.streams import printable


def render(verdict: GateVerdict) -> str:
    """One test case a judgement, and one for whatever else keeps the outcome from being a pass.

    Failures and errors are there if and only if the exit code is not 0; what is inconclusive is an
    error, or skipped where it is to pass.
    """
    suite = ElementTree.Element("testsuite", name="cpu-usage")
    for judgement in verdict.judgements:
        name = f"{judgement.label} {judgement.criterion}"
        case = ElementTree.SubElement(suite, "testcase", classname=judgement.place, name=name)
        text = f"{ratio_text(judgement)}: {verdict_text(judgement)}"
        if judgement.fails:
            ElementTree.SubElement(case, "failure", message=text)
        elif judgement.is_unmeasured:
            reason = judgement.why_given_up or ""
            ElementTree.SubElement(case, "error", message=f"not measured: {reason}")
        elif judgement.is_open:
            is_error = not (verdict.inconclusive_passes or verdict.failures)
            ElementTree.SubElement(case, "error" if is_error else "skipped", message=text)
        else:
            ElementTree.SubElement(case, "system-out").text = text
    others = [
        (one.scenario, f"{one.label} runs", f"{one.count} failed: {one.message}")
        for one in verdict.failed_runs
    ]
    others += [("capabilities", place, "not supported any more") for place in verdict.lost]
    if not verdict.judgements and not others:
        others.append(("cpu-usage", "questions", headline(verdict)))
    for place, name, text in others:
        case = ElementTree.SubElement(suite, "testcase", classname=place, name=name)
        ElementTree.SubElement(case, "error", message=text)
    suite.set("tests", str(len(suite)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    # XML has no way to write control characters.
    for element in suite.iter():
        element.attrib.update({name: printable(text) for name, text in element.items()})
        element.text = element.text and printable(element.text)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
