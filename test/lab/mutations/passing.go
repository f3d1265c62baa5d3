package main

// passing are mutations of the steps of a pass, and of the rules for the policies of dependents.
var passing = []mutation{
	{
		"a changed export is rendered with its previous value", "reconcile/unreported.go",
		`if u.asked != nil {`, `if false && u.asked != nil {`,
		"Exports in renderings:|ends because a rendering asked for another value",
	},
	{
		"a deleted component stays in the caches", "reconcile/forget.go",
		"		forget(name)\n", "		_ = forget\n",
		"forgets a deleted component",
	},
	{
		"a component whose inputs cannot be read is not repaired", "reconcile/repair_only.go",
		`if !found || !areRepairable(`, `if true || !found || !areRepairable(`,
		"dependents of a component without a rendering are counted",
	},
	{
		"a create is not confirmed", "reconcile/request.go",
		`return p.Store.Confirm(ctx, c.Object, recorded)`, `_ = recorded; return nil`,
		"Two operators of the same name with a delay:",
	},
	{
		"a changed export is rendered again without a delay", "reconcile/rerender.go",
		`previous != "" && previous != e.Value`, `previous != "" && false`,
		"Exports in renderings",
	},
	{
		"a feedback is rendered again without a delay", "reconcile/feedback.go",
		`if due.IsZero() {`, `if due.IsZero() || true {`,
		"renderings change their own input",
	},
	{
		"a pass that ends for an export drops its inventory", "reconcile/unreported.go",
		"	ended := u.ended\n	if ended == nil {", "	var ended *endState\n	if ended == nil {",
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
	{
		"an object with the policy update-only is created", "plan/policy.go",
		`c.reconcile != metav1alpha1.ReconcileUpdateOnly || c.live`,
		`c.reconcile != metav1alpha1.ReconcileUpdateOnly || true || c.live`,
		"with the policy update-only is updated",
	},
	{
		"a change of the component applies no object again", "plan/policy.go",
		`return c.followedTrigger() != "" && `,
		`return c.followedTrigger() != "" && false && `,
		"with the policy on-object-or-component-change is applied once",
	},
	{
		"the end of a reapply interval applies no object", "plan/policy.go",
		`if due.IsZero() || c.now.Before(due) || c.renderedAgain() {`,
		`if true || due.IsZero() || c.now.Before(due) || c.renderedAgain() {`,
		"Reapply intervals:",
	},
	{
		"an object that always differs by its matcher is written without end", "plan/matcher_rules.go",
		`case c.written():`,
		`case false && c.written():`,
		"a matcher that always finds a difference writes once in a pass",
	},
	{
		"an object that its matcher accepts is written", "plan/matcher_rules.go",
		`return v != nil && v.Accepts && `,
		`return v != nil && false && `,
		"a matcher that sees the component accepts a changed manifest",
	},
	{
		"an object that its matcher leaves alone is written", "plan/matcher_rules.go",
		`case v == nil || !v.LeaveUntil.After(c.now):`,
		`case true || v == nil || !v.LeaveUntil.After(c.now):`,
		"an object is left alone until the time of its matcher",
	},
	{
		"no pass begins when a matcher stops leaving an object alone", "plan/matcher_rules.go",
		"		p.planAgainAt(v.LeaveUntil)\n",
		"		_ = p\n",
		"an object is left alone until the time of its matcher",
	},
	{
		"an object whose matcher failed is written", "plan/matcher_rules.go",
		`if c.live.MatchResult == nil || c.live.MatchResult.Failed == "" {`,
		`if true || c.live.MatchResult == nil || c.live.MatchResult.Failed == "" {`,
		"an object whose matcher panics is left unchanged",
	},
	{
		"a hook after an apply is called before everything is applied", "reconcile/runner.go",
		"	if err == nil && o.Done() {\n		err = r.call(ctx, PostReconcile, c)",
		"	if err == nil {\n		err = r.call(ctx, PostReconcile, c)",
		"hooks of a reconciler are called at the documented points",
	},
	{
		"of two operators, the second one names its rendering, too", "components/passes.go",
		`return pass.loaded != nil && pass.named != namedBy(stored)`, `return false`,
		"of two operators that render generated values at the same time",
	},
	{
		"an operator does not use the rendering that another operator stored", "rendering/set.go",
		`return named != "" && named != s.ID &&`, `return false && named != "" && named != s.ID &&`,
		"of two operators that render generated values at the same time",
	},
	{
		"the watch event of an author's update starts one more pass", "components/authorupdate.go",
		`return state != nil && state.holdBack(`,
		`return state != nil && false && state.holdBack(`,
		"The author's update of a component:",
	},
	{
		"a pass begins with the version before an author's update", "components/authorupdate.go",
		"		s.keepWrite(written)\n",
		"		_ = s\n",
		"The author's update of a component:",
	},
	{
		"an author's write is not repeated after a conflict", "components/authorstatus.go",
		`if !apierrors.IsConflict(err) || retry == maxRetries {`,
		`if true || !apierrors.IsConflict(err) || retry == maxRetries {`,
		"The author's update of a component:|repeated after a conflict",
	},
	{
		"a pass drops the conditions of an author", "components/authorstatus.go",
		"		if isAuthorCondition(c) {\n",
		"		if false && isAuthorCondition(c) {\n",
		"conditions that an author adds to the status are kept",
	},
	{
		"an author's update removes the reconciler's finalizer", "components/authorupdate.go",
		"	changed.SetFinalizers(s.options.Finalizers.keep(changed.GetFinalizers(), before.GetFinalizers()))\n",
		"",
		"The author's update of a component: a hook fills in a field of the spec",
	},
	{
		"an author's update of an outdated version is written", "components/authorupdate.go",
		`client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})`,
		`client.MergeFrom(before)`,
		"The author's update of a component: an update from other code is repeated after conflicts",
	},
	{
		"an author's write changes the reconciler's part of the status", "components/authorstatus.go",
		"	*stored.GetStatus() = *restored\n",
		"",
		"an update of the status by Reconciler.UpdateStatus is repeated after a conflict",
	},
}
