"""One comparison: validate, prepare, measure, conclude."""
