"""Studies: several methods and seeds under one plan, from demonstrations to a report."""
