"""Study: public data sets, experiments of papers, formulas about ensembles."""
