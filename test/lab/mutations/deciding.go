package main

// deciding are mutations of the code that interprets the responses of the API server.
var deciding = []mutation{
	{
		"a conflict is treated as another failure", "execute/execute.go",
		`if apierror.IsConflict(err) {`, `if false && apierror.IsConflict(err) {`,
		"Objects that exist before they are applied|Two operators of the same name",
	},
	{
		"a conflict of UIDs is treated as another failure", "apierror/classify.go",
		` || IsOtherUID(err)`, "",
		"Objects whose owner changes right before a write",
	},
	{
		"a terminating object counts as deleted", "execute/write.go",
		`if obj == nil || obj.GetDeletionTimestamp() == nil || isRemoved(obj) {`, `if obj == nil || true {`,
		"Deletions of components",
	},
	{
		"an object of a type that is not served counts as deleted", "execute/definitions.go",
		`if source.defines(a, &list.Items[i]) {`, `if false {`,
		"Watches on types of dependents|Temporary obstacles|Foreign instances",
	},
	{
		"a type that is not served counts as without instances", "execute/definitions.go",
		`return nil, c.confirmNeverServed(ctx, definition, err)`, `return nil, nil`,
		"Foreign instances of a type|Definitions",
	},
	{
		"the watches do not receive the responses to own writes", "execute/execute.go",
		`done(trackedAnswer(observed, a))`, `done(nil)`,
		"Drift of dependents",
	},
	{
		"an outdated path of a type is kept", "discovery/renewal.go",
		"	m.Reset()\n", "	_ = m\n",
		"Watches on types of dependents|Types in several versions",
	},
	{
		"a refused write is retried at once", "apierror/classify.go",
		`return s.Code >= http.StatusBadRequest && s.Code < http.StatusInternalServerError`, `return false`,
		"the operator has no right to delete a dependent",
	},
	{
		"a write with invalid fields is retried at once",
		"apierror/classify.go",
		`return &plan.Failure{Class: plan.Terminal, Reason: reason, Cause: CauseOf(err), Message: text, Field: field}`,
		`return &plan.Failure{Class: plan.Transient, Reason: reason, Cause: CauseOf(err), Message: text, Field: field}`,
		"Changes of the manifests|Waves",
	},
	{
		"an error quotes a Secret", "execute/failure.go",
		`f = redacted(f, err)`, `_, _ = redacted, err`,
		"Refused Secrets",
	},
	{
		"owners and objects of others are named without an access review", "plan/named.go",
		`return n.All || n.Known[key] || key.IsExternal()`, `return true`,
		"Names of the components of others",
	},
	{
		"a requested pass repeats no access review", "applier/names.go",
		`reviewer{user: client.User, requested: r.Requested}`, `reviewer{user: client.User}`,
		"Names of the components of others",
	},
	{
		"a set with invalid objects is not held", "applier/validate.go",
		`facts.Hold = len(facts.Refused) > 0`, `facts.Hold = false`,
		"Validation before the first write",
	},
	{
		"rules about the previous version are not asked", "applier/validate.go",
		`changes = append(changes, v.transition(a)...)`, `_ = v.transition(a)`,
		"a change that a rule about the previous version refuses holds the set",
	},
	{
		"the verbs of a type are not asked", "applier/verbs.go",
		`slices.Contains(verbs, verb) {`, `len(verbs) > 0 {`,
		"an object of an aggregated API that can only be read is refused before the first write",
	},
	{
		"an outdated schema is kept", "applier/validate.go",
		`client.Discovery.ForgetType(s.action.Object.GroupVersionKind())`, `_ = s.action`,
		"a schema that is outdated refuses nothing",
	},
	{
		"the definition of the same set is not used", "applier/validate.go",
		`version.types != nil, version.unserved`, `false, version.unserved`,
		"an instance of a type that the same set defines",
	},
	{
		"a component removes what its own operator runs on", "applier/facts.go",
		`self.Operator = plan.Operator(client.Operator)`, `self.Operator = plan.Operator{}`,
		"what the operator runs on is released",
	},
	{
		"a refused status is not told", "reconcile/report.go",
		`if by := apitext.Refuser(err); by != "" {`, `if by := apitext.Refuser(err); by == "none" {`,
		"a policy that refuses the status is named in an event",
	},
	{
		"a quota that refuses records is reported as a missing right", "inventory/store.go",
		`if records.IsRefused(err) {`, `if false {`,
		"a quota that refuses the Secrets of the inventory is named",
	},
	{
		"rules of custom types are not evaluated", "../../../internal/validate/values/rules.go",
		`	if t.rules == nil {`, `	if true {`,
		"an object that a rule refuses holds the set",
	},
	{
		"rules about the previous version are evaluated without one", "../../../internal/validate/values/rules.go",
		`if previous.MatchString(rule.Rule) || previous.MatchString(rule.MessageExpression) ||`, `if`,
		"a rule about the previous version that also judges new objects",
	},
	{
		"a copy of a dependent is a dependent", "plan/copies.go",
		`if live.Copied && live.Owner == f.Owner && !f.records(live.UID) {`, `if false {`,
		"a copy of a dependent that somebody made at a rendered place",
	},
	{
		"what another component released comes back without an entry", "plan/adoptions.go",
		`return c.live.Mark.ReleasedBy == c.owner &&`, `return c.live.Mark.ReleasedBy != "" &&`,
		"an object that a component released does not come to a component of another name",
	},
	{
		"a released object comes back against the mark of another tool", "plan/adoptions.go",
		`c.live.Mark.By == "" && !c.inDeletion()`, `!c.inDeletion()`,
		"an object that a component released does not come to a component of another name",
	},
	{
		"an object of a later wave that no watch shows is not validated", "plan/refused.go",
		`if c.live.unwatched() {`, `if false {`,
		"an object of a type that cannot be watched is refused before",
	},
	{
		"a retry repeats the dry runs that were accepted", "applier/accepted.go",
		`return known && accepted == v.changeOf(a)`, `return false`,
		"a retry of a set repeats only the dry runs that were not accepted",
	},
	{
		"an accepted change of another live object counts", "applier/accepted.go",
		`generation: v.live.Of(a.Key).Generation,`, ``,
		"a retry of a set repeats only the dry runs that were not accepted",
	},
}
