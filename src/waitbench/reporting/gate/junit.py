"""The gate's verdict as JUnit's XML, which continuous integration shows as tests."""

from xml.etree import ElementTree

from waitbench.analysis.gate import GateVerdict
from waitbench.reporting.gate.texts import ratio_text, verdict_text
from waitbench.system.texts import printable


def render(verdict: GateVerdict) -> str:
    """One test case a judgement: open ones are skipped, unmeasured ones errors."""
    suite = ElementTree.Element("testsuite", name="cpu-usage", tests=str(len(verdict.judgements)))
    suite.set("failures", str(len(verdict.failures)))
    suite.set("errors", str(len(verdict.not_measured)))
    skipped = 0
    for judgement in verdict.judgements:
        name = f"{judgement.label} {judgement.criterion}"
        case = ElementTree.SubElement(suite, "testcase", classname=judgement.place, name=name)
        text = f"{ratio_text(judgement)}: {verdict_text(judgement)}"
        if judgement in verdict.failures:
            ElementTree.SubElement(case, "failure", message=text)
        elif judgement.is_unmeasured:
            reason = judgement.why_given_up or ""
            ElementTree.SubElement(case, "error", message=f"not measured: {reason}")
        elif judgement.is_open:
            skipped += 1
            ElementTree.SubElement(case, "skipped", message=text)
        else:
            ElementTree.SubElement(case, "system-out").text = text
    suite.set("skipped", str(skipped))
    # XML has no way to write control characters.
    for element in suite.iter():
        element.attrib.update({name: printable(text) for name, text in element.items()})
        element.text = element.text and printable(element.text)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
