/* Sources of uncertainty of a case, and the numbers of labelled cases that would decide it.

   The formulas are those of hedgerow.explain.sources and .remedies, and the names those of hedgerow.explain.words; the tests compare them.
   The parts of missing and out-of-range values need the whole forest and are not computed here. */

const CAUSES = {
  few: "too few similar training rows", overlap: "class overlap", disagree: "tree disagreement",
  missing: "missing values or new categories", out_of_range: "values outside the training range",
};
/* Rules that use more than the counts of a leaf. */
const BY_WEIGHT = ["plausibility", "dempster", "cautious"];
const MOST_CASES = 1000, ONE_BY_ONE = 16;

/* Leaves of a case: fraction of the trees, total, class shares. */
function leavesOf(evidence, number) {
  const {start, content, times, counts, total, nClasses} = evidence, found = [];
  let trees = 0;
  for (let at = start[number]; at < start[number + 1]; at++) trees += times[at];
  for (let at = start[number]; at < start[number + 1]; at++) {
    const d = content[at], shares = Array.from({length: nClasses}, (_, k) => (total[d] > 0 ? counts[d * nClasses + k] / total[d] : 0));
    found.push({weight: times[at] / trees, times: times[at], total: total[d], shares});
  }
  return found;
}

/* Amounts of few, overlap and disagree. */
function uncertaintyOf(evidence, number, caution) {
  const leaves = leavesOf(evidence, number), K = evidence.nClasses, byClass = new Array(K).fill(0);
  let few = 0;
  for (const leaf of leaves) {
    const unassigned = vacuityOf(leaf.total, caution);
    few += leaf.weight * unassigned;
    leaf.held = leaf.weight * (1 - unassigned);
    leaf.shares.forEach((share, k) => { byClass[k] += leaf.held * share; });
  }
  const order = [...byClass].sort((a, b) => b - a), margin = K > 1 ? order[0] - order[1] : order[0];
  const rivals = Math.max(sum(byClass, 0, K) - margin, 0), apart = disagreementOf(leaves, byClass);
  return {few, overlap: rivals * (1 - apart), disagree: rivals * apart};
}

/* The part of the impurity between leaves in excess of chance. */
function disagreementOf(leaves, byClass) {
  const total = sum(byClass, 0, byClass.length);
  if (!(total > 0)) return 0;
  const mean = byClass.map((value) => value / total), impurity = 1 - mean.reduce((all, value) => all + value * value, 0);
  if (!(impurity > 1e-12)) return 0;
  let within = 0, chance = 0;
  for (const {held, shares, total: n} of leaves) {
    const weight = held / total, agrees = shares.reduce((all, share, k) => all + share * mean[k], 0);
    within += weight * (1 - shares.reduce((all, share) => all + share * share, 0));
    chance += weight / Math.max(n * (1 - agrees), 1);
  }
  return clip((impurity - within) / impurity - chance, 0, 1);
}

/* Integer percentages with sum 100, rounded as in Python. */
function percents(shares) {
  const whole = shares.map((share) => Math.floor(100 * share + 1e-9));
  const rest = Math.round(100 * sum(shares, 0, shares.length)) - sum(whole, 0, whole.length);
  const order = shares.map((_, i) => i).sort((a, b) => whole[a] - 100 * shares[a] - (whole[b] - 100 * shares[b]) || a - b);
  for (const i of order.slice(0, Math.max(rest, 0))) whole[i] += 1;
  return whole;
}

/* The opinion about a case after adding n rows of a class to every leaf it reaches. */
function withMore(evidence, number, name, setting, label, n) {
  const more = evidenceOf(evidence, number), {nClasses: K, counts, total, winner} = more;
  for (let i = 0; i < more.nContents; i++) {
    counts[i * K + label] += n;
    total[i] += n;
    winner[i] = 0;
    for (let k = 1; k < K; k++) if (counts[i * K + k] > counts[i * K + winner[i]]) winner[i] = k;
  }
  return combiner(more, name, setting)(0);
}

/* The fewest further cases of a class after which only this class remains; Infinity if a thousand are not enough. */
function fewestCases(decides) {
  for (let n = 1; n <= ONE_BY_ONE; n++) if (decides(n)) return n;
  let low = ONE_BY_ONE, high = 2 * ONE_BY_ONE;
  while (!decides(high)) {
    low = high;
    high *= 2;
    if (high > 2 * MOST_CASES) return Infinity;
  }
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (decides(middle)) high = middle; else low = middle;
  }
  return high <= MOST_CASES ? high : Infinity;
}
