"""What Schemathesis is told about this API beyond its document.

A value that fits its schema may still break a rule that takes the database to decide: a code that
another record has, a reference to a record that does not exist, a record that others refer to. The
store answers these with a 422 whose code names the rule. Any other refusal of valid data is a
finding, as it is with the check `positive_data_acceptance`, which this one replaces.
"""

import schemathesis

# The codes of the refusals that no schema of one value can foresee, each with an example.
RULES = {
    "duplicate": "a currency with a code that another one has",
    "missing_reference": "a product of a manufacturer that does not exist",
    "referenced": "the deletion of a country that has zones",
    "refused": "the deletion of a core order status",
}


@schemathesis.check
def refuses_valid_data_only_by_a_rule(ctx, response, case):
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive:
        return
    if response.status_code not in (400, 415, 422):
        return
    errors = response.json()["errors"]
    others = [error for error in errors if error["code"] not in RULES]
    if others:
        raise AssertionError(f"Valid data was refused: {others}")
