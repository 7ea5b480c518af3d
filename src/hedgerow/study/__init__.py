"""Study: public data, papers, formulas about learners."""
