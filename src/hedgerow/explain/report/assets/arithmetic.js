/* Combination and decision rules: from the leaf counts of a case to its opinion and prediction set.

   These are the rules and decisions of hedgerow.rules and hedgerow.decisions. A rule has lift (from the counts of a leaf to a state), merge
   (add or max) and finish (from a state to an opinion). The tests compare every number with the library. */

const TIE = 1e-12;

/* ---- leaves ---------------------------------------------------------------------------------------------- */

/* Unpack the evidence: dense counts (D x K), totals (D), largest class (D), weight of evidence for it (D), and for each
   case the numbers of trees by counts. */
function readEvidence(packed, nClasses) {
  const size = unpack(packed.size), label = unpack(packed.label), count = unpack(packed.count);
  const nContents = size.length;
  const counts = new Float64Array(nContents * nClasses), total = new Float64Array(nContents);
  const winner = new Int32Array(nContents);
  for (let d = 0, at = 0; d < nContents; d++) {
    let largest = 0;
    for (let i = 0; i < size[d]; i++, at++) {
      counts[d * nClasses + label[at]] = count[at];
      total[d] += count[at];
      if (count[at] > largest) { largest = count[at]; winner[d] = label[at]; }
    }
  }
  return {
    nClasses, nContents, counts, total, winner, weight: unpack(packed.weight),
    start: unpack(packed.start), content: unpack(packed.content), times: unpack(packed.times),
  };
}

/* The evidence of one case alone, which is faster to combine. */
function evidenceOf(evidence, number) {
  const K = evidence.nClasses, from = evidence.start[number], size = evidence.start[number + 1] - from;
  const counts = new Float64Array(size * K), total = new Float64Array(size), weight = new Float64Array(size);
  const winner = new Int32Array(size), content = new Uint32Array(size);
  for (let i = 0; i < size; i++) {
    const d = evidence.content[from + i];
    for (let k = 0; k < K; k++) counts[i * K + k] = evidence.counts[d * K + k];
    [total[i], winner[i], weight[i], content[i]] = [evidence.total[d], evidence.winner[d], evidence.weight[d], i];
  }
  return {nClasses: K, nContents: size, counts, total, winner, weight, start: [0, size], content, times: evidence.times.subarray(from, from + size)};
}

/* ---- rules ----------------------------------------------------------------------------------------------- */

/* Vacuity of a leaf in the imprecise Dirichlet model. */
function vacuityOf(total, caution) {
  return total > 0 ? caution / (total + caution) : 1;
}

function sum(values, from, to) {
  let total = 0;
  for (let i = from; i < to; i++) total += values[i];
  return total;
}

function logaddexp(a, b) {
  const high = Math.max(a, b);
  return high === -Infinity ? high : high + Math.log1p(Math.exp(-Math.abs(a - b)));
}

function logsumexp(values) {
  const high = Math.max(...values);
  return high + Math.log(values.reduce((total, value) => total + Math.exp(value - high), 0));
}

/* log(exp(x) - 1) - x */
function logLost(x) {
  return x > 0 ? Math.log(-Math.expm1(-x)) : -Infinity;
}

function distribution(sums) {
  const total = sum(sums, 0, sums.length);
  return sums.map((value) => (total > 0 ? value / total : 1 / sums.length));
}

function opinionFromBounds(probability, lower, upper, conflict) {
  lower = lower.map((value) => clip(value, 0, 1));
  upper = upper.map((value, k) => clip(value, lower[k], 1));
  probability = probability.map((value, k) => clip(value, lower[k], upper[k]));
  return {lower, upper, probability, conflict: clip(conflict, 0, 1)};
}

function opinionFromLower(probability, lower, conflict) {
  const unassigned = 1 - sum(lower, 0, lower.length);
  return opinionFromBounds(probability, lower, lower.map((value) => value + unassigned), conflict);
}

function disagreement(probability, squares, total) {
  const square = probability.reduce((all, value) => all + value * value, 0);
  return total > 0 ? Math.max(squares / total - square, 0) : 0;
}

/* Slice as a plain array. */
function part(values, from, to) {
  const found = new Array(to - from);
  for (let i = from; i < to; i++) found[i - from] = values[i];
  return found;
}

/* A rule that averages one distribution per leaf, given by shares(leaf, k). `lift` writes the state of a leaf into the zeros of `out`. */
function mean(shares) {
  return {
    merge: "add",
    width: (K) => 2 * K + 2,
    lift(leaf, setting, out, at) {
      const K = setting.nClasses, held = vacuityOf(leaf.total, setting.caution);
      for (let k = 0; k < K; k++) {
        const share = leaf.total > 0 ? shares(leaf, k, setting) : 0;
        out[at + k] = share;
        out[at + K + k] = (1 - held) * share;
        out[at + 2 * K] += share * share;
      }
      out[at + 2 * K + 1] = held;
    },
    finish(state, setting) {
      const K = setting.nClasses, filled = sum(state, 0, K);
      const probability = distribution(part(state, 0, K));
      const total = sum(state, K, 2 * K) + state[2 * K + 1];
      const lower = part(state, K, 2 * K).map((value) => value / (total > 0 ? total : 1));
      return opinionFromLower(probability, lower, disagreement(probability, state[2 * K], filled));
    },
  };
}

const average = mean((leaf, k) => leaf.count(k) / leaf.total);

const laplace = mean((leaf, k, setting) => {
  const alpha = setting.alpha ?? 1;
  return (leaf.count(k) + alpha) / (leaf.total + alpha * setting.nClasses);
});

const plausibility = mean((leaf, k, setting) => {
  const support = -Math.expm1(-leaf.weight);
  return (1 - support) / setting.nClasses + (k === leaf.winner ? support : 0);
});

const vote = mean((leaf, k, setting) => {
  const largest = leaf.count(leaf.winner);
  if (leaf.count(k) !== largest) return 0;
  let tied = 0;
  for (let j = 0; j < setting.nClasses; j++) tied += leaf.count(j) === largest;
  return 1 / tied;
});

const pool = {
  merge: "add",
  width: (K) => K + 2,
  lift(leaf, setting, out, at) {
    const K = setting.nClasses;
    for (let k = 0; k < K; k++) {
      out[at + k] = leaf.count(k);
      out[at + K] += leaf.total > 0 ? (leaf.count(k) * leaf.count(k)) / leaf.total : 0;
    }
    out[at + K + 1] = leaf.total > 0 ? 1 : 0;
  },
  finish(state, setting) {
    const K = setting.nClasses, total = sum(state, 0, K), room = total + setting.caution * state[K + 1];
    const pooled = part(state, 0, K), probability = distribution(pooled);
    const lower = pooled.map((value) => value / (room > 0 ? room : 1));
    return opinionFromLower(probability, lower, disagreement(probability, state[K], total));
  },
};

const belief = {
  merge: "add",
  width: (K) => 3 * K + 1,
  lift(leaf, setting, out, at) {
    const K = setting.nClasses, largest = leaf.count(leaf.winner);
    const isPossible = (k) => {
      const most = leaf.count(k) + setting.caution;
      return setting.strict ? most >= largest : most > largest || leaf.count(k) === largest;
    };
    let size = 0;
    for (let k = 0; k < K; k++) size += isPossible(k);
    const weight = leafWeight(leaf, setting);
    for (let k = 0; k < K; k++) {
      if (!isPossible(k)) continue;
      out[at + k] = size === 1 ? weight : 0;
      out[at + K + k] = weight;
      out[at + 2 * K + k] = weight / size;
    }
    out[at + 3 * K] = weight;
  },
  finish(state, setting) {
    const K = setting.nClasses, total = state[3 * K];
    const share = (from) => part(state, from, from + K).map((value) => value / (total > 0 ? total : 1));
    const alone = share(0), possible = share(K).map((value) => (total > 0 ? value : 1));
    const against = sum(alone, 0, K) - Math.max(...alone);
    return opinionFromBounds(distribution(share(2 * K)), alone, possible, against);
  },
};

function leafWeight(leaf, setting) {
  if (setting.weights === "size") return leaf.total;
  if (setting.weights === "precision") return leaf.total > 0 ? leaf.total / (leaf.total + setting.caution) : 0;
  return 1;
}

const dempster = {
  merge: "add",
  width: (K) => 2 * K,
  lift(leaf, setting, out, at) {
    const held = vacuityOf(leaf.total, setting.caution);
    out[at + leaf.winner] = leaf.weight;
    out[at + setting.nClasses + leaf.winner] =
      held > 0 ? -Math.log(held + (1 - held) * Math.exp(-leaf.weight)) : leaf.weight;
  },
  finish(state, setting) {
    const K = setting.nClasses, weight = part(state, 0, K), all = sum(weight, 0, K);
    const discounted = weight.map((value, k) => Math.min(state[K + k], value));
    const singles = weight.map((value) => -Math.expm1(-value) * Math.exp(value - all));
    const empty = clip(1 - sum(singles, 0, K) - Math.exp(-all), 0, 1);
    const logs = weight.map((value) => value + Math.log1p(-(1 - 1 / K) * Math.exp(-value)));
    const top = Math.max(...logs), probability = distribution(logs.map((value) => Math.exp(value - top)));
    const lower = setting.normalised === false
      ? discounted.map((value, k) => -Math.expm1(-value) * Math.exp(weight[k] - all))
      : lowerBeliefs(weight, discounted);
    return opinionFromLower(probability, lower, empty);
  },
};

/* Belief in k from its discounted weight and the full weights of its rivals; the largest is subtracted first. */
function lowerBeliefs(weight, discounted) {
  const top = Math.max(...weight);
  return discounted.map((own, k) => {
    let room = own - top;
    weight.forEach((value, j) => { if (j !== k) room = logaddexp(room, logLost(value) + (value - top)); });
    return Math.exp(logLost(own) + (own - top) - room);
  });
}

const cautious = {...dempster, merge: "max"};

const eva = {
  merge: "add",
  width: (K) => 2 * K + 2,
  lift(leaf, setting, out, at) {
    if (!(leaf.total > 0)) return;
    const K = setting.nClasses, smoothing = setting.smoothing ?? 0.1;
    for (let k = 0; k < K; k++) {
      out[at + k] = Math.log1p(leaf.count(k) / smoothing);
      out[at + K + k] = Math.log1p(leaf.count(k) / (smoothing + setting.caution));
    }
    out[at + 2 * K] = Math.log(leaf.total / smoothing + K);
    out[at + 2 * K + 1] = 1;
  },
  finish(state, setting) {
    const K = setting.nClasses, leaves = state[2 * K + 1], even = new Array(K).fill(1 / K);
    if (!(leaves > 0)) return opinionFromBounds(even, even.map(() => 0), even.map(() => 1), 0);
    const correction = setting.prior.map((value) => (leaves - 1) * priorTerm(value, setting));
    const lifted = leaves * Math.log1p(setting.caution / (setting.smoothing ?? 0.1));
    const plain = correction.map((value, k) => state[k] - value);
    const raised = correction.map((value, k) => Math.max(state[K + k] + lifted - value, plain[k]));
    const [lower, upper] = raisedBounds(plain, raised);
    const top = Math.max(...plain), probability = distribution(plain.map((value) => Math.exp(value - top)));
    const shares = plain.map((_, k) => Math.exp((state[k] - state[2 * K]) / leaves));
    return opinionFromBounds(probability, lower, upper, 1 - sum(shares, 0, K));
  },
};

function priorTerm(prior, setting) {
  if (setting.correction === "authors") return prior;
  return setting.correction === null ? 0 : Math.log(prior);
}

/* Bounds from log-scores, and from those with the unassigned mass of every leaf on the class. */
function raisedBounds(plain, raised) {
  const top = Math.max(...plain), step = raised.map((value, k) => value - plain[k]);
  plain = plain.map((value) => value - top);
  raised = raised.map((value) => value - top);
  const total = logsumexp(plain), gain = raised.map((value, k) => value + logLost(step[k]));
  const worst = gain.map((_, k) => Math.max(-Infinity, ...gain.filter((_, j) => j !== k)));
  return [
    plain.map((value, k) => Math.exp(value - logaddexp(total, worst[k]))),
    raised.map((value, k) => Math.exp(value - logaddexp(total, gain[k]))),
  ];
}

/* ---- calibrator ------------------------------------------------------------------------------------------ */

/* The opinion with calibrated probabilities and bounds. */
function calibrated(opinion, map) {
  const {probability, lower} = opinion, K = probability.length;
  const vacuity = clip(1 - sum(lower, 0, K), 0, 1);
  if (vacuity >= 1 && Math.max(...probability) <= Math.min(...probability)) return opinion;
  const logs = probability.map((value) => Math.log((value + map.floor) / (1 + map.floor * K)));
  const scores = logs.map((value, k) => {
    let score = map.slope * value;
    if (map.mix) logs.forEach((other, j) => { score += other * map.mix[j][k]; });
    return map.gain * score + map.offsets[k];
  });
  const top = Math.max(...scores), shares = distribution(scores.map((value) => Math.exp(value - top)));
  return opinionFromLower(shares, shares.map((value) => (1 - vacuity) * value), opinion.conflict);
}

/* Rules by name, with title and hint; `Rule.on_page` in Python returns such a name. */
const RULES = {
  average: {...average, title: "Average", hint: "mean of the class shares in the leaves, as in ordinary forests"},
  laplace: {...laplace, title: "Laplace", hint: "mean of smoothed class shares; small leaves count less"},
  plausibility: {...plausibility, title: "Plausibility", hint: "mean of the preferences that each leaf supports"},
  vote: {...vote, title: "Vote", hint: "each tree votes for the largest class of its leaf"},
  pool: {...pool, title: "Pool", hint: "counts of all leaves summed; large leaves count more"},
  belief: {...belief, title: "Belief", hint: "each tree supports the classes that its leaf cannot distinguish"},
  dempster: {...dempster, title: "Dempster", hint: "evidence of all trees combined as if independent"},
  cautious: {...cautious, title: "Cautious", hint: "strongest evidence for each class only"},
  eva: {...eva, title: "EVA", hint: "product of the class shares; one certain leaf can veto"},
};

/* ---- fold ------------------------------------------------------------------------------------------------ */

/* A function from a case to its opinion, for a rule and its setting (with a calibrator, if any). States are lifted at first use and shared. */
function combiner(evidence, name, setting) {
  const rule = RULES[name], K = evidence.nClasses, width = rule.width(K);
  const states = new Float64Array(evidence.nContents * width), done = new Uint8Array(evidence.nContents);
  setting = {...setting, nClasses: K};

  const {start, content, times, counts, total, winner, weight} = evidence, takesMost = rule.merge === "max";
  const leaf = {from: 0, total: 0, winner: 0, weight: 0, count(k) { return counts[this.from + k]; }}; // reused for all leaves

  function lift(d) {
    leaf.from = d * K;
    leaf.total = total[d];
    leaf.winner = winner[d];
    leaf.weight = weight[d];
    rule.lift(leaf, setting, states, d * width);
    done[d] = 1;
  }

  const merged = new Float64Array(width);
  return (number) => {
    merged.fill(0);
    for (let at = start[number]; at < start[number + 1]; at++) {
      const d = content[at], from = d * width, n = times[at];
      if (!done[d]) lift(d);
      if (takesMost) {
        for (let i = 0; i < width; i++) if (states[from + i] > merged[i]) merged[i] = states[from + i];
      } else {
        for (let i = 0; i < width; i++) merged[i] += n * states[from + i];
      }
    }
    const opinion = rule.finish(merged, setting);
    return setting.map ? calibrated(opinion, setting.map) : opinion;
  };
}

/* ---- decisions ------------------------------------------------------------------------------------------- */

/* Bounds tightened until some distribution attains each. */
function reachable(opinion) {
  const {lower, upper} = opinion, K = lower.length;
  const low = sum(lower, 0, K), high = sum(upper, 0, K), one = Math.min(Math.max(1, low), high);
  const room = one - low, excess = high - one;
  const tightUpper = upper.map((value, k) => (value - lower[k] > room + TIE ? Math.max(lower[k] + room, lower[k]) : value));
  const tightLower = lower.map((value, k) =>
    Math.min(upper[k] - value > excess + TIE ? Math.min(upper[k] - excess, upper[k]) : value, tightUpper[k]));
  return {lower: tightLower, upper: tightUpper};
}

function dominance(opinion) {
  const {lower, upper} = reachable(opinion), bar = Math.max(...lower) - TIE;
  return upper.map((value) => value >= bar);
}

function eAdmissibility(opinion) {
  const {upper} = reachable(opinion), kept = dominance(opinion);
  const needed = Math.min(1, sum(upper, 0, upper.length)) - TIE;
  return kept.map((is, k) => is && upper.reduce((all, value) => all + Math.min(value, upper[k]), 0) >= needed);
}

/* The class with the largest score; ties go to the larger probability, then to the first. */
function best(score, probability) {
  const bar = Math.max(...score) - TIE;
  let first = -1;
  score.forEach((value, k) => { if (value >= bar && (first < 0 || probability[k] > probability[first])) first = k; });
  return score.map((_, k) => k === first);
}

function pignistic(opinion) {
  const {lower, upper} = reachable(opinion), K = lower.length;
  const low = sum(lower, 0, K), room = Math.min(Math.max(1, low), sum(upper, 0, K)) - low;
  const spread = upper.reduce((all, value, k) => all + value - lower[k], 0);
  return best(lower.map((value, k) => value + (upper[k] - value) * (room / (spread > 0 ? spread : 1))), opinion.probability);
}

function byProbability(probability) {
  return probability.map((_, k) => k).sort((a, b) => probability[b] - probability[a] || a - b);
}

function prefix(order, size) {
  const chosen = order.map(() => false);
  for (let i = 0; i < size; i++) chosen[order[i]] = true;
  return chosen;
}

/* The set with the largest g(size) x probability; among equals the smallest. */
function utilitySet(worth) {
  return (opinion) => {
    const order = byProbability(opinion.probability);
    let together = 0;
    const values = order.map((k, i) => (together += opinion.probability[k]) * worth(i + 1));
    const bar = Math.max(...values) - TIE;
    return prefix(order, values.findIndex((value) => value >= bar) + 1);
  };
}

function quadratic(z) {
  return (size) => ((2 - 4 * z) / size + (4 * z - 1)) / size;
}

function topProbability(opinion, options) {
  const order = byProbability(opinion.probability), needed = 1 - (options.epsilon ?? 0.05) - TIE;
  let together = 0, size = order.findIndex((k) => (together += opinion.probability[k]) >= needed) + 1;
  if (size === 0) size = order.length;
  return prefix(order, size);
}

function hurwicz(opinion, options) {
  const {lower, upper} = reachable(opinion), optimism = options.optimism ?? 0.5;
  return best(lower.map((value, k) => optimism * upper[k] + (1 - optimism) * value), opinion.probability);
}

/* Decisions by name, with title and hint; `Decision.on_page` in Python returns such a name. A decision that `cuts` rules out the classes
   whose upper probability is below the largest lower probability. */
const DECISIONS = {
  dominance: {
    choose: dominance, cuts: true,
    title: "Interval dominance", hint: "rules out classes whose upper probability is below another’s lower one",
  },
  e_admissibility: {
    choose: eAdmissibility,
    title: "E-admissibility", hint: "keeps classes that are the most probable under some distribution",
  },
  u65: {choose: utilitySet(quadratic(0.65)), title: "u65", hint: "set with the largest expected utility, if correct pairs count 0.65"},
  u80: {choose: utilitySet(quadratic(0.8)), title: "u80", hint: "set with the largest expected utility, if correct pairs count 0.80"},
  f1: {choose: utilitySet((size) => 2 / (size + 1)), title: "F1", hint: "set with the largest expected F measure"},
  top_probability: {
    choose: topProbability,
    title: "Top probability", hint: "fewest classes whose total probability reaches the target",
  },
  expected_utility: {
    choose: ({probability}) => best(probability, probability),
    title: "Most probable", hint: "one class, with the largest probability",
  },
  maximin: {
    choose: (opinion) => best(reachable(opinion).lower, opinion.probability),
    title: "Maximin", hint: "one class, with the largest lower probability",
  },
  maximax: {
    choose: (opinion) => best(reachable(opinion).upper, opinion.probability),
    title: "Maximax", hint: "one class, with the largest upper probability",
  },
  hurwicz: {choose: hurwicz, title: "Hurwicz", hint: "one class, with the largest weighted mean of both bounds"},
  pignistic: {choose: pignistic, title: "Pignistic", hint: "one class, with the largest pignistic probability"},
};

function decide(opinion, name, options = {}) {
  return DECISIONS[name].choose(opinion, options);
}
