package ordering

// Rule is a rule of Conflicts.
type Rule = orderConflict

// ApplyRules and PhaseRules are the rules, so that a test can leave one out.
var ApplyRules, PhaseRules = &orderConflicts, &phaseConflicts
