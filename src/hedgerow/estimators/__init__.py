"""Public estimators, with the interface of scikit-learn."""

from hedgerow.estimators.classifiers import DecisionTreeClassifier as DecisionTreeClassifier
from hedgerow.estimators.classifiers import ExtraTreeClassifier as ExtraTreeClassifier
from hedgerow.estimators.classifiers import ExtraTreesClassifier as ExtraTreesClassifier
from hedgerow.estimators.classifiers import RandomDecisionTreesClassifier as RandomDecisionTreesClassifier
from hedgerow.estimators.classifiers import RandomForestClassifier as RandomForestClassifier
from hedgerow.estimators.mixed import MixedForestClassifier as MixedForestClassifier
from hedgerow.estimators.mixed import MixedForestRegressor as MixedForestRegressor
from hedgerow.estimators.pairwise import PairwiseTreesClassifier as PairwiseTreesClassifier
from hedgerow.estimators.regressors import DecisionTreeRegressor as DecisionTreeRegressor
from hedgerow.estimators.regressors import ExtraTreeRegressor as ExtraTreeRegressor
from hedgerow.estimators.regressors import ExtraTreesRegressor as ExtraTreesRegressor
from hedgerow.estimators.regressors import RandomForestRegressor as RandomForestRegressor
from hedgerow.estimators.survival import ExtraSurvivalTrees as ExtraSurvivalTrees
from hedgerow.estimators.survival import RandomSurvivalForest as RandomSurvivalForest
from hedgerow.estimators.survival import SurvivalTree as SurvivalTree
from hedgerow.estimators.unsupervised import RandomTreesEmbedding as RandomTreesEmbedding
from hedgerow.estimators.unsupervised import UnsupervisedForest as UnsupervisedForest
from hedgerow.fit.incremental import merge as merge
from hedgerow.storage import load as load
from hedgerow.storage import save as save
