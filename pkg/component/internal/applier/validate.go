package applier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/internal/validate"
	"github.com/fairlead-io/fairlead/internal/validate/values"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/execute"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const (
	// maxAsked is the maximum number of dry runs of manifests with faults in one set. Further ones are written as they
	// are.
	maxAsked = 100
	// parallelDryRuns is the maximum number of concurrent dry runs.
	parallelDryRuns = 8
)

// Validation is the result of Validate.
type Validation struct {
	// Refused are the failures of those manifests that the API server would refuse.
	Refused map[manifests.Key]plan.Failure
	// Dropped are the fields that the API server drops without an error, because the types do not have them.
	Dropped []result.DroppedField
	// accepted are the changes that the API server accepts, as dry runs have shown.
	accepted acceptedChanges
}

// Validate returns the failures of those manifests that the API server would refuse, among the writes of a plan that
// apply manifests for the first time; see plan.Plan.Unapplied. Nothing is refused without a certain reason: either the
// API server confirms it by a dry run, or the object cannot exist, or a definition that is applied with it decides. A
// dry run that does not confirm a fault shows that the schema is outdated, so it is read again at the next time.
//
// A set without faults costs one request for each group and version that is not cached, and one dry run for each object
// whose type has rules about changes; see transition. The error is that of budget.Reserve, or that of ctx.
func Validate(
	ctx context.Context, client *target.Client, facts plan.Facts, writes []plan.Action,
) (Validation, error) {
	return revalidate(ctx, client, facts, writes, nil)
}

// revalidate is Validate without the dry runs of changes that were accepted before. A write with a certain fault is
// refused at once. A write with other faults, and a write without faults whose type has rules about changes, is a
// suspect, and a dry run decides about it. If the dry run does not confirm a fault of the schema, the cached schema is
// dropped.
func revalidate(
	ctx context.Context, client *target.Client, facts plan.Facts, writes []plan.Action, accepted acceptedChanges,
) (Validation, error) {
	v := validation{
		client: client, inventory: facts.Inventory, defined: definitions(writes), mutates: validate.Mutates(facts.Desired),
		unbound: facts.Unbound, live: facts.Live, accepted: accepted,
	}
	defer v.values.release()
	if err := v.readTypes(ctx, writes); err != nil {
		return Validation{}, err
	}
	var suspects, changes []suspect
	found := Validation{accepted: acceptedChanges{}}
	refused := map[manifests.Key]plan.Failure{}
	for _, a := range byKind(writes) {
		faults, dropped, err := v.check(ctx, a)
		for _, field := range dropped {
			found.Dropped = append(found.Dropped, result.DroppedField{Key: a.Key, Field: field})
		}
		switch {
		case err != nil:
			return Validation{}, err
		case len(faults) == 0 && v.isAccepted(a):
			found.accepted[a.Key] = accepted[a.Key]
		case len(faults) == 0:
			changes = append(changes, v.transition(a)...)
		case slices.ContainsFunc(faults, func(f validate.Fault) bool { return f.Certain }):
			refused[a.Key] = plan.Failure{
				Class: plan.Terminal, Reason: plan.WaitInvalid, Message: describe(faults), Field: faults[0].Field,
			}
		case len(suspects) < maxAsked:
			suspects = append(suspects, v.suspect(a, faults))
		}
	}
	suspects = append(suspects, changes...)
	v.ask(ctx, client.Home(manifests.Owner{Namespace: facts.Component.Namespace}), suspects)
	for _, s := range suspects {
		switch {
		case s.confirmed != nil:
			refused[s.action.Key] = *s.confirmed
		case s.accepted && s.change:
			found.accepted[s.action.Key] = v.changeOf(s.action)
		case slices.ContainsFunc(s.faults, func(f validate.Fault) bool { return f.OfSchema }):
			client.Discovery.ForgetType(s.action.Object.GroupVersionKind())
		}
	}
	found.Refused = refused
	return found, ctx.Err()
}

// validateOnce checks the first writes of a plan, before the first write of a pass. If the API server would refuse some
// of them, again is set, and the next plan contains only repairs.
//
// An existing object without our label is among the writes once it was read; see plan.Plan.Unread. If only the conflict
// of its create shows that an object exists, it was checked as a create. So is an object of a later wave that no watch
// shows, and it is checked again when it was read.
func (a *Applier) validateOnce(
	ctx context.Context, client *target.Client, r Request, facts *plan.Facts, decided plan.Plan,
) (again bool, err error) {
	if !facts.Validate || !decided.Writes() {
		return false, nil
	}
	found, err := revalidate(ctx, client, *facts, decided.Unapplied, a.state.acceptedOf(facts.Owner))
	if err == nil {
		a.state.keepAccepted(facts.Owner, found.accepted)
	}
	facts.Refused = found.Refused
	for _, w := range decided.Waiting {
		if w.Failure != nil && w.Reason == plan.WaitNotListable && err == nil {
			facts.Refused[w.Key] = *w.Failure
		}
	}
	if len(found.Dropped) > 0 && len(facts.Refused) == 0 && r.Drops != nil {
		r.Drops(found.Dropped)
	}
	facts.Hold = len(facts.Refused) > 0
	facts.Validate = decided.Incomplete() && !facts.Hold
	return facts.Hold && err == nil, err
}

// validation checks the writes of one plan.
type validation struct {
	client    *target.Client
	inventory plan.Inventory
	// types are the schemas that the API server has. defined are the definitions among the writes.
	types   discovery.Types
	defined map[schema.GroupKind]*setDefinition
	// mutates reports whether a webhook of the set may change the objects of a group. values are those of a kind.
	mutates func(group string) bool
	values  kindValues
	// unbound are the objects that wait for the values of their holes.
	unbound map[manifests.Key]plan.Unbound
	// live is the state of the objects. accepted are the changes that were accepted before.
	live     plan.Snapshot
	accepted acceptedChanges
}

// waits reports whether the object of a write waits for the values of its holes.
func (v *validation) waits(a plan.Action) bool {
	_, waits := v.unbound[a.Key]
	return waits
}

// suspect returns the suspect of a write. The dry run of an object that waits for values contains only the other
// fields.
func (v *validation) suspect(a plan.Action, faults []validate.Fault) suspect {
	s := suspect{action: a, faults: faults}
	if !v.waits(a) {
		return s
	}
	if whole, err := a.Object.Whole(); err == nil {
		rest, _ := validate.WithoutHoles(whole)
		s.action.Object, s.partial = &rest, true
	}
	return s
}

// setDefinition is a CustomResourceDefinition that is about to be written, with the schemas that were compiled from it.
type setDefinition struct {
	object   *manifests.Object
	versions map[string]setVersion
}

// setVersion is a version in such a definition. types is nil if there is no schema that can be used.
type setVersion struct {
	types    managedfields.TypeConverter
	unserved bool
}

// suspect is a write whose manifest has faults. confirmed is set if the API server refuses it, and accepted if it
// accepts it. Both are empty if its answer says nothing about the manifest.
type suspect struct {
	action    plan.Action
	faults    []validate.Fault
	confirmed *plan.Failure
	accepted  bool
	// change is set if the write has no fault, and only rules of its type about changes can refuse it.
	change bool
	// partial is set if the dry run lacks the fields with holes, so that only a refusal that names the field of a fault
	// counts.
	partial bool
	// rules are set if only these rules of its type count; see transition.
	rules []values.Transition
}

// definitions returns the definitions among the writes, by the kind that they define.
func definitions(writes []plan.Action) map[schema.GroupKind]*setDefinition {
	found := map[schema.GroupKind]*setDefinition{}
	for _, a := range writes {
		if !plan.IsDefinition(a.Key) || len(a.Object.Settings.Ignored()) > 0 {
			continue
		}
		for _, t := range a.Object.Types {
			found[t.GroupKind] = &setDefinition{object: a.Object, versions: map[string]setVersion{}}
		}
	}
	return found
}

// readTypes reads the schemas of the kinds that the API server serves.
func (v *validation) readTypes(ctx context.Context, writes []plan.Action) (err error) {
	var kinds []schema.GroupVersionKind
	seen := map[schema.GroupVersionKind]bool{}
	for _, a := range writes {
		gvk := a.Object.GroupVersionKind()
		if v.defined[gvk.GroupKind()] == nil && a.Object.Scope != manifests.ScopeUnknown && !seen[gvk] {
			seen[gvk] = true
			kinds = append(kinds, gvk)
		}
	}
	v.types, err = v.client.Discovery.Types(ctx, kinds)
	return err
}

// check returns the faults of a write, and the fields that it drops; see validate.Check. A manifest that cannot be read
// has none, because its write reports that. An update with ignored fields has none either: it sends only some of them,
// and a dry run of the whole manifest says nothing about it. The error is budget.ErrWait.
func (v *validation) check(
	ctx context.Context, a plan.Action,
) (faults []validate.Fault, dropped []string, err error) {
	whole, err := a.Object.Whole()
	recreates := a.Verb == plan.VerbDelete
	if err != nil || a.Verb != plan.VerbCreate && !recreates && len(whole.Settings.Ignored()) > 0 {
		return nil, nil, nil
	}
	gvk := whole.GroupVersionKind()
	s := validate.Subject{
		Object: whole, Exists: a.Verb != plan.VerbCreate, DropsUnknown: a.Policy == metav1alpha1.UpdateReplace,
	}
	served, d := v.types[gvk], v.defined[gvk.GroupKind()]
	if served != nil {
		s.Types = served
	}
	if d == nil || !v.mutates(gvk.Group) {
		if s.Values, err = v.values.of(ctx, gvk, served, d); err != nil {
			return nil, nil, err
		}
	}
	if d != nil {
		version, err := d.version(ctx, gvk.Version)
		if err != nil {
			return nil, nil, err
		}
		s.Types, s.Defined, s.Unserved = version.types, version.types != nil, version.unserved
	}
	if e := v.inventory[a.Key]; !recreates && e.UID == a.Preconditions.UID {
		s.Recorded = e.Immutable
	}
	check := validate.Check
	if v.waits(a) {
		check = validate.CheckRest
	}
	faults, dropped = check(s)
	if len(faults) == 0 {
		faults = v.unsupported(a)
	}
	return faults, dropped, nil
}

// version returns a version of the definition. The error is budget.ErrWait.
func (d *setDefinition) version(ctx context.Context, name string) (setVersion, error) {
	if version, compiled := d.versions[name]; compiled {
		return version, nil
	}
	whole, err := d.object.Whole()
	if err == nil {
		scoped, end := budget.Scope(ctx)
		defer end()
		err = budget.Reserve(scoped, definitionCopies*budget.Value(whole.Body.Object))
	}
	if errors.Is(err, budget.ErrWait) {
		return setVersion{}, err
	}
	var version setVersion
	if err == nil {
		version.unserved = !validate.Serves(whole.Body, name)
		version.types, err = validate.Definition(whole.Body, name)
	}
	if err != nil {
		version.types = nil
	}
	d.versions[name] = version
	return version, nil
}

// definitionCopies is an estimate of the memory that the compilation of a definition takes, as a multiple of its
// manifest.
const definitionCopies = 4

// ask makes a dry run of each suspected write.
func (v *validation) ask(ctx context.Context, home string, suspects []suspect) {
	executor := v.client.Executor.ForNamespace(home)
	var asking errgroup.Group
	asking.SetLimit(parallelDryRuns)
	for i := range suspects {
		s := &suspects[i]
		asking.Go(func() error {
			refusal, accepted := executor.Refused(ctx, s.action)
			s.accepted = accepted
			if refusal != nil && s.confirms(*refusal) {
				s.confirmed = &refusal.Failure
				s.confirmed.Field = cmp.Or(s.confirmed.Field, s.faults[0].Field)
			}
			return nil
		})
	}
	_ = asking.Wait()
}

// confirms reports whether a refusal of the dry run is about a fault, and not about something that the write avoids. A
// recreated object may have other immutable fields, so its refusal must have another cause, too: after the deletion its
// create would be refused. Most writes with the policy replace are other requests than their dry run, which is always
// an apply.
func (s *suspect) confirms(r execute.Refusal) bool {
	if s.rules != nil {
		return refuses(s.rules, r.Causes)
	}
	replaces := s.action.Verb == plan.VerbReplace ||
		s.action.Policy == metav1alpha1.UpdateReplace && !builtintypes.IsBuiltIn(s.action.Key.Group)
	return slices.ContainsFunc(s.faults, func(f validate.Fault) bool {
		switch {
		case s.partial:
			return f.Field != "" && strings.Contains(r.Failure.Message, f.Field)
		case f.Immutable:
			return r.Immutable
		case r.Immutable && s.action.Verb == plan.VerbDelete:
			return r.Other
		case f.OfSchema && !f.OfValue:
			return true
		}
		return !r.Mistyped || !replaces
	})
}

// describe returns the message about certain faults.
func describe(faults []validate.Fault) string {
	texts := make([]string, 0, len(faults))
	for _, f := range faults {
		texts = append(texts, f.String())
	}
	return fmt.Sprintf("the manifest is invalid: %s", strings.Join(texts, "; "))
}
