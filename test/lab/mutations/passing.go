package main

// passing are mutations of the steps of a pass, and of the rules for the policies of dependents.
var passing = []mutation{
	{
		"a changed export is rendered with its former value", "reconcile/unreported.go",
		`if u.asked != nil {`, `if false && u.asked != nil {`,
		"Exports in renderings:|ends because a rendering asked for another value",
	},
	{
		"a component that is gone stays in the caches", "reconcile/forget.go",
		"		forget(name)\n", "		_ = forget\n",
		"forgets a component that is gone",
	},
	{
		"a component whose inputs cannot be read is not repaired", "reconcile/repair_only.go",
		`if !found || !areRepairable(`, `if true || !found || !areRepairable(`,
		"dependents of a component without a rendering are counted",
	},
	{
		"a create is not confirmed", "reconcile/request.go",
		`return p.Store.Confirm(ctx, c.Object, recorded)`, `_ = recorded; return nil`,
		"Two operators of the same name:",
	},
	{
		"a changed export is rendered again without a delay", "reconcile/rerender.go",
		`former != "" && former != e.Value`, `former != "" && false`,
		"Exports in renderings",
	},
	{
		"a feedback is rendered again without a delay", "reconcile/feedback.go",
		`if due.IsZero() {`, `if due.IsZero() || true {`,
		"renderings change their own input",
	},
	{
		"a pass that ends for an export drops its inventory", "reconcile/unreported.go",
		"	ended := u.ended\n	if ended == nil {", "	var ended *endedPass\n	if ended == nil {",
		"ends because a rendering asked for another value",
	},
	{
		"a pass that ends for an export drops its status", "reconcile/unreported.go",
		`c.SetStatus(*next)`, `_ = next`,
		"ends because a rendering asked for another value",
	},
	{
		"a pass that ends for an export is not continued", "reconcile/report.go",
		"	r.Wake(c.Name())\n}\n\n// report writes", "}\n\n// report writes",
		"Exports in renderings:|ends because a rendering asked for another value",
	},
	{
		"a pass that ends for an export makes a report", "outcome/outcome.go",
		`return o.Asked == nil && o.Outcome.Done()`, `return o.Outcome.Done()`,
		"ends because a rendering asked for another value",
	},
	{
		"a pass that ends for an export writes its status", "reconcile/report.go",
		`if o.Asked != nil {`, `if false {`,
		"Exports in renderings:|ends because a rendering asked for another value",
	},
	{
		"a suspended component is applied", "reconcile/runner.go",
		`case components.Suspended(c.Object):`, `case false && components.Suspended(c.Object):`,
		"Suspended components",
	},
	{
		"an applied object with the policy once is repaired", "plan/policy.go",
		`if c.reconcile != metav1alpha1.ReconcileOnce || !recorded && !ours {`,
		`if c.reconcile != metav1alpha1.ReconcileOnce || true || !recorded && !ours {`,
		"Reconcile policies:",
	},
	{
		"an object with the policy create-only is repaired", "plan/policy.go",
		`if c.reconcile != metav1alpha1.ReconcileCreateOnly || !exists || !ours {`,
		`if c.reconcile != metav1alpha1.ReconcileCreateOnly || true || !exists || !ours {`,
		"Reconcile policies:",
	},
	{
		"an object with the policy always is applied without end", "plan/policy.go",
		` || c.written() || c.result.Attempts > 1 {`, ` || false {`,
		"Reconcile policies:",
	},
}
