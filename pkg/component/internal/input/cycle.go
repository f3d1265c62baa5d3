package input

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
)

// checkCycle returns an error if a component reads an export of a component that reads, directly or through others, an
// export of the first one. Without this check, the components could change each other without end.
//
// The references of the other components come from the cache of the reconciler, without a request. If there is a cycle,
// each component on it is read with the identity of the component, and the name of a component that this identity may
// not read is left out of the message.
func (r *Reader) checkCycle(
	ctx context.Context, name types.NamespacedName, t target.Target, refs []Reference, declared []metav1alpha1.Reference,
) error {
	i := slices.IndexFunc(refs, func(ref Reference) bool { return ref.isComponent() && r.isOwnType(ref.Type) })
	if i < 0 || r.ReferencesOf == nil {
		return nil
	}
	cycle, err := r.cycleOf(ctx, name, declared)
	if err != nil || cycle == nil {
		return err
	}
	names := []string{name.Name}
	for _, other := range cycle {
		_, err := t.Local.Dynamic.Resource(refs[i].watched.Resource).
			Namespace(name.Namespace).Get(ctx, other, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			other = "(a component that the identity of " + name.Name + " cannot read)"
		}
		names = append(names, other)
	}
	return &passerror.Error{
		Reason: metav1alpha1.ReasonReferenceCycle, Terminal: true, Message: fmt.Sprintf(
			"the component reads an export that depends on its own exports: %s; remove one of these references",
			strings.Join(append(names, name.Name), " reads "),
		),
	}
}

// cycleOf returns the names of the other components on the shortest cycle of references through a component, in the
// order of the references; empty if the component reads itself, and nil if there is no cycle. It is a search in
// breadth.
func (r *Reader) cycleOf(
	ctx context.Context, start types.NamespacedName, declared []metav1alpha1.Reference,
) ([]string, error) {
	readBy := map[string]string{}
	var queue []string
	add := func(reader string, refs []metav1alpha1.Reference) (closed bool) {
		for _, name := range r.ownNames(refs) {
			if name == start.Name {
				return true
			}
			if _, seen := readBy[name]; !seen {
				readBy[name], queue = reader, append(queue, name)
			}
		}
		return false
	}
	if add("", declared) {
		return []string{}, nil
	}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		refs, err := r.ReferencesOf(ctx, types.NamespacedName{Namespace: start.Namespace, Name: name})
		if err != nil {
			return nil, err
		}
		if !add(name, refs) {
			continue
		}
		var cycle []string
		for ; name != ""; name = readBy[name] {
			cycle = append(cycle, name)
		}
		slices.Reverse(cycle)
		return cycle, nil
	}
	return nil, nil
}

// ownNames returns the names of the referenced components of the reconciler's own type, sorted.
func (r *Reader) ownNames(refs []metav1alpha1.Reference) []string {
	var names []string
	for _, ref := range refs {
		if ref.Kind == metav1alpha1.ComponentReference && r.isOwnType(ref.Type) {
			names = append(names, ref.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isOwnType reports whether the Type of a reference is the type of the reconciler's components.
func (r *Reader) isOwnType(text string) bool {
	return r.kindOf(metav1alpha1.Reference{Type: text}) == r.Type
}
