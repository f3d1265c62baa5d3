package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/dependencies"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxNamed is the number of components that a message names.
const maxNamed = 3

// gate holds a pass while its component has to wait for other components: new inputs for those that the component
// depends on, and a deletion for those that depend on it. If the reconciler has no graph, as in a preview, nothing
// waits.
type gate struct {
	pass *Pass
	c    *Component
	// work is what the steps of the pass found.
	work work
}

// inputs returns an error if the inputs must not be applied yet. Inputs that the component began to apply go on. If it
// returns nil, the components that this one depends on are not deleted before its next pass.
//
// It must be called before other steps count new inputs, because inputs may change often while they wait.
func (g gate) inputs(ctx context.Context) error {
	if g.pass.Dependencies == nil || len(g.c.needs.Edges) == 0 {
		g.c.State.settling = settling{}
		return nil
	}
	began := g.c.GetStatus().Revision > 0 && g.work.inputs.AreRecorded(g.c.GetStatus())
	if began && g.hasDependents() {
		g.c.State.settling = settling{}
		return nil
	}
	graph, name, uid := g.pass.Dependencies.Graph, g.c.Name(), g.c.GetUID()
	due := time.Time{}
	if !began {
		due = g.c.State.settling.due(g.work.inputs.Digest, g.pass.Clock.Now())
	}
	answer := graph.Follow(name, uid)
	if answer.Permits() {
		if now := g.pass.Clock.Now(); now.Before(due) {
			return &settlesError{after: due.Sub(now)}
		}
		answer = graph.Begin(name, uid)
	} else {
		g.c.State.settling.held()
	}
	switch {
	case !answer.IsKnown:
		return passerror.ErrObserving
	case answer.Permits():
		g.c.State.settling.settled()
		return nil
	case !slices.ContainsFunc(answer.States, func(s dependencies.State) bool { return s.Cause == dependencies.InCycle }):
		return g.notReady(answer.States)
	}
	cycle := graph.Cycle(name)
	if len(cycle) == 0 {
		// Another component has opened the cycle meanwhile, which starts another pass.
		return g.notReady(answer.States)
	}
	return g.inCycle(ctx, cycle)
}

// hasDependents reports whether the component has recorded dependents, or dependents that only the process knows.
func (g gate) hasDependents() bool {
	return g.pass.Finalizers.Holds(g.c.Object) && len(g.work.recorded.Entries) > 0
}

// notReady returns the error of a component that waits for components which it depends on.
func (g gate) notReady(states []dependencies.State) error {
	var reports []metav1alpha1.DependentReport
	var texts []string
	for i, s := range states {
		if s.Permits() {
			continue
		}
		key := g.key(s.Edge.On)
		message := fmt.Sprintf("%s (%s[%d])", causeText(s, g.c.GetNamespace()), g.c.needs.Field, i)
		texts = append(texts, key.String()+": "+message)
		reports = append(reports, metav1alpha1.DependentReport{
			Dependent: key.String(), Reason: result.ReportComponentNotReady, Message: message,
		})
	}
	message := "it waits until the components that it depends on are Ready: " + first(texts, "; ")
	if g.c.GetStatus().Revision > 0 {
		message += "; until then, nothing of the new inputs is applied"
	}
	return &passerror.Error{
		Reason: metav1alpha1.ReasonDependencyNotReady, Terminal: true, Waits: true, Components: reports, Message: message,
	}
}

// causeText returns why a dependency does not permit new inputs. Without the consent of the other component, it says
// nothing about it, not even whether it exists.
func causeText(s dependencies.State, namespace string) string {
	switch s.Cause {
	case dependencies.NotAllowed:
		return "it does not exist, or its allowDependents does not list the namespace " + namespace
	case dependencies.Absent:
		return "it does not exist"
	case dependencies.BeingDeleted:
		return "it is being deleted"
	case dependencies.NotReady, dependencies.InCycle, dependencies.Ready:
	}
	if s.Suspended {
		return "it is suspended, and was not ready with its last inputs"
	}
	return "it is not Ready"
}

// inCycle returns the error of a component that waits for a component which waits for it. The names of components that
// the identity of the component may not read are left out.
func (g gate) inCycle(ctx context.Context, cycle []dependencies.Link) error {
	mayRead := func(name types.NamespacedName) bool { return name == g.c.Name() || g.mayRead(ctx, name) }
	return &passerror.Error{
		Reason: metav1alpha1.ReasonDependencyCycle, Terminal: true, Message: fmt.Sprintf(
			"%s: the component depends on a component that waits for it: %s; remove one of these dependencies",
			g.c.needs.Field, cycleText(cycle, mayRead)),
	}
}

// cycleText returns the names of the components on a cycle, each with what it has to do with the next one.
func cycleText(cycle []dependencies.Link, mayRead func(types.NamespacedName) bool) string {
	own := cycle[0].Name
	parts := []string{textOf(own)}
	for i, link := range cycle {
		next := cycle[(i+1)%len(cycle)].Name
		name := textOf(next)
		if !mayRead(next) {
			name = "(a component that the identity of " + own.Name + " cannot read)"
		}
		parts = append(parts, linkText(link.Kind)+name)
	}
	return strings.Join(parts, "")
}

// linkText returns the words between a component of a cycle and the next one.
func linkText(kind dependencies.Kind) string {
	switch kind {
	case dependencies.Contains:
		return " contains "
	case dependencies.IsContained:
		return " is a dependent of "
	case dependencies.Exports:
		return " reads an export of "
	case dependencies.DependsOn:
	}
	return " depends on "
}

// mayRead reports whether the identity of the component may read another component.
func (g gate) mayRead(ctx context.Context, name types.NamespacedName) bool {
	local := g.work.target.Local
	mapping, err := local.Discovery.Mapper().RESTMapping(g.key(name).GroupKind())
	if err != nil {
		return false
	}
	_, err = local.Dynamic.Resource(mapping.Resource).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	return err == nil || apierrors.IsNotFound(err)
}

// deletion returns an error if the dependents must not be deleted yet, because other components depend on the
// component. When the component's own namespace begins to be deleted meanwhile, another pass starts.
func (g gate) deletion(ctx context.Context) error {
	if g.pass.Dependencies == nil {
		return nil
	}
	graph, name, uid := g.pass.Dependencies.Graph, g.c.Name(), g.c.GetUID()
	holders, isKnown := graph.Holders(name, uid, false)
	if len(holders) > 0 && name.Namespace != "" {
		g.watchNamespace()
		if g.work.target.Local.Executor.NamespaceGoes(ctx, name.Namespace) {
			holders, isKnown = graph.Holders(name, uid, true)
		}
	}
	isOpen := func(h dependencies.Holder) bool { return !h.Ends }
	switch {
	case !isKnown:
		return passerror.ErrObserving
	case slices.ContainsFunc(holders, isOpen):
		// Whoever deletes several components deletes one after the other. A person has to act only if a holder stays.
		now := g.pass.Clock.Now()
		if due := g.c.State.settling.due("deletion", now); now.Before(due) {
			return &settlesError{after: due.Sub(now)}
		}
		return g.dependedOn(holders)
	case len(holders) > 0:
		return g.dependedOn(holders)
	}
	if g.c.State.watchesNamespace {
		g.c.State.watchesNamespace = false
		g.work.target.Local.Namespaces.Release(g.work.owner.ID())
	}
	return nil
}

// watchNamespace starts a pass when the component's own namespace changes.
func (g gate) watchNamespace() {
	g.c.State.watchesNamespace = true
	name := g.c.Name()
	own := observe.Reference{Resource: corev1.SchemeGroupVersion.WithResource("namespaces"), Name: name.Namespace}
	g.work.target.Local.Namespaces.Watch(
		g.work.owner.ID(), observe.Reader{}, []observe.Reference{own}, func() { g.pass.Wake(name) })
}

// dependedOn returns the error of a deletion that waits for the holders. If some of them are not being deleted, a
// person has to act.
func (g gate) dependedOn(holders []dependencies.Holder) error {
	var ending, staying []string
	var reports []metav1alpha1.DependentReport
	for _, h := range holders {
		key, message := g.key(h.Name).String(), "it depends on this component, and is being deleted"
		if h.Ends {
			ending = append(ending, key)
		} else {
			staying, message = append(staying, key), "it depends on this component, and is not being deleted"
		}
		reports = append(reports, metav1alpha1.DependentReport{
			Dependent: key, Reason: result.ReportDependedOn, Message: message,
		})
	}
	failure := &passerror.Error{
		Reason: metav1alpha1.ReasonDependedOn, Terminal: true, Waits: true, Components: reports,
		State: metav1alpha1.StateDeleting,
		Message: "dependents are not deleted until the components that depend on this one are deleted: " +
			first(ending, ", "),
	}
	if len(staying) > 0 {
		failure.State = metav1alpha1.StateDeletionBlocked
		failure.Message = "no dependent is deleted or repaired, because other components depend on this one and are not " +
			"being deleted: " + first(staying, ", ") + "; delete them, or remove this component from their dependsOn, or set " +
			"deletion: ignore there"
	}
	return failure
}

// key returns the key of a component of the same type.
func (g gate) key(name types.NamespacedName) manifests.Key {
	owner := g.work.owner
	return manifests.Key{Group: owner.Group, Kind: owner.Kind, Namespace: name.Namespace, Name: name.Name}
}

// first joins the first texts, and says how many more there are.
func first(texts []string, separator string) string {
	joined := strings.Join(texts[:min(len(texts), maxNamed)], separator)
	if more := len(texts) - maxNamed; more > 0 {
		joined += fmt.Sprintf(" and %d more", more)
	}
	return joined
}

// textOf returns the name of a component, with its namespace if it has one.
func textOf(name types.NamespacedName) string {
	if name.Namespace == "" {
		return name.Name
	}
	return name.String()
}
