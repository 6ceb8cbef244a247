"""Reports: runs in, tables, figures and one readable page out. Everything comes from records."""

from __future__ import annotations

from gym_grounding.report._page import metrics_page
from gym_grounding.report._study import CURVES
from gym_grounding.report._write import check_report, write_report

__all__ = ["CURVES", "check_report", "metrics_page", "write_report"]
