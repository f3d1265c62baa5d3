package execute

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/apitext"
	"github.com/fairlead-io/fairlead/internal/builtintypes"
	ignored "github.com/fairlead-io/fairlead/internal/fieldpath"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apierror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/serverrules"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// A server-side apply removes only fields that its manager owns. So if a manifest selects another branch of a one-of, a
// branch stays that the API server has set by a default, or that another client has set, and the API server refuses the
// manifest. The functions below make such a branch ours, so that the apply removes it.

// excludedError is the refusal of a manifest that excludes fields of others. Its hint says which.
type excludedError struct {
	error
	hint string
}

func (e *excludedError) Unwrap() error { return e.error }

// mayExclude reports whether an update was refused for a one-of that the manifest decides.
func mayExclude(a plan.Action, err error) bool {
	return apierrors.IsInvalid(err) && !apierror.IsOtherUID(err) && a.Object != nil &&
		serverrules.MayConcern(a.Key.GroupKind(), a.Object.Body.Object, refusedFields(err))
}

// applyExcluding applies a manifest that the API server has refused. If the live object contains fields that the
// manifest excludes, and nobody needs them, applyExcluding first tries the result as a dry run, then makes these fields
// ours, and applies the manifest again by send, whose argument is the new resource version. The object does not change
// before the second apply, so a crash in between leaves nothing undone: the next apply removes the fields, because they
// are ours. In all other cases applyExcluding returns the refusal.
func (w *writer) applyExcluding(
	ctx context.Context, resource dynamic.ResourceInterface, a plan.Action, refused error,
	send func(version string) (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	live, err := w.planned(ctx, resource, a)
	if err != nil {
		return nil, err
	}
	entries := w.view.OwnFields(live.GetManagedFields())
	excluded, err := exclusion{w.reconciler, a, entries}.droppable(live)
	switch {
	case err != nil:
		return nil, &excludedError{error: refused, hint: err.Error()}
	case len(excluded) == 0:
		return nil, refused
	}
	tried, err := w.tryExcluding(ctx, resource, a, live, excluded)
	switch {
	case apitext.DryRunUnsupported(err) && !w.dryRun:
	case apierrors.IsInvalid(err):
		return nil, refused
	case err != nil || w.dryRun:
		return tried, err
	}
	if entries, err = takeFields(w.reconciler, a.Object.Body.GetAPIVersion(), entries, excluded); err != nil {
		return nil, err
	}
	version, err := w.sendManagedFields(ctx, resource, a, live, entries)
	if err != nil {
		return nil, err
	}
	return send(version)
}

// exclusion decides which fields of a live object an update may drop because its manifest excludes them. The entries
// are the managed fields of the object, with the name of the reconciler in our entries.
type exclusion struct {
	reconciler string
	action     plan.Action
	entries    []metav1.ManagedFieldsEntry
}

// droppable returns the fields of a live object that the manifest excludes and that the update may drop. The error
// names all fields that somebody else needs, and is nil if the manifest excludes no such field.
func (e exclusion) droppable(live *unstructured.Unstructured) ([]serverrules.Branch, error) {
	a := e.action
	var droppable []serverrules.Branch
	var needed []neededField
	left := ignored.Strip(live.Object, a.Object.Settings.IgnoredPaths())
	for _, b := range serverrules.Excluded(a.Key.GroupKind(), a.Object.Body.Object, left) {
		managers, err := e.needs(b)
		if err != nil {
			return nil, err
		}
		if len(managers) > 0 || b.Kept {
			needed = append(needed, neededField{b, managers})
			continue
		}
		droppable = append(droppable, b)
	}
	if len(needed) > 0 {
		return nil, &neededError{key: a.Key, fields: needed}
	}
	return droppable, nil
}

// needs returns the managers that need an excluded field, sorted by name. A field that is ours, or that a previous
// manager wrote, is not needed. Neither is one that a controller injects. All fields of a server-side apply are needed.
func (e exclusion) needs(b serverrules.Branch) ([]string, error) {
	var managers []string
	for _, entry := range e.entries {
		fields, err := fieldsIn(entry)
		if err != nil {
			return nil, err
		}
		theirs := b.Below(fields)
		switch updates := entry.Operation == metav1.ManagedFieldsOperationUpdate; {
		case theirs.Empty(), entry.Manager == e.reconciler && entry.Subresource == "":
		case updates && slices.Contains(e.action.PreviousManagers, entry.Manager):
		case updates && e.action.TransferOf(entry.Manager) == plan.TransferToNobody:
		case updates && b.Injectable(theirs):
		default:
			managers = append(managers, entry.Manager)
		}
	}
	slices.Sort(managers)
	return slices.Compact(managers), nil
}

// takeFields returns managed fields in which excluded fields are ours alone.
func takeFields(
	reconciler, apiVersion string, entries []metav1.ManagedFieldsEntry, excluded []serverrules.Branch,
) ([]metav1.ManagedFieldsEntry, error) {
	ours, apply := fieldpath.NewSet(), metav1.ManagedFieldsOperationApply
	var rest []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		fields, err := fieldsIn(entry)
		if err != nil {
			return nil, err
		}
		if entry.Manager == reconciler && entry.Operation == apply && entry.Subresource == "" {
			ours, apiVersion = fields, entry.APIVersion
			continue
		}
		left := fields
		for _, b := range excluded {
			left = left.Difference(b.Below(fields))
		}
		if left.Empty() {
			continue
		}
		if !left.Equals(fields) {
			other, err := newEntry(entry.Manager, entry.Operation, entry.APIVersion, left)
			if err != nil {
				return nil, err
			}
			other.Time, other.Subresource = entry.Time, entry.Subresource
			entry = other
		}
		rest = append(rest, entry)
	}
	for _, b := range excluded {
		ours.Insert(b.Path)
	}
	entry, err := newEntry(reconciler, apply, apiVersion, ours)
	return append(rest, entry), err
}

// tryExcluding sends the object that an apply without the excluded fields leads to, as a dry run.
func (w *writer) tryExcluding(
	ctx context.Context, resource dynamic.ResourceInterface, a plan.Action,
	live *unstructured.Unstructured, excluded []serverrules.Branch,
) (*unstructured.Unstructured, error) {
	own := w.view.Own(live)
	owned := inspect.Entry(own.GetManagedFields(), w.reconciler, inspect.Operation(metav1alpha1.UpdateSSAOverride))
	merged, _ := merge(own, sent(a), ignored.Mask(owned, a.Object.Settings.IgnoredPaths()))
	without := (&unstructured.Unstructured{Object: merged}).DeepCopy()
	for _, b := range excluded {
		b.Drop(without.Object)
	}
	without.SetManagedFields(live.GetManagedFields())
	data, err := changesOf(live.Object, without.Object)
	if err != nil {
		return nil, err
	}
	return resource.Patch(ctx, a.Key.Name, types.JSONPatchType, data, metav1.PatchOptions{
		FieldManager: w.view.FieldManager(), DryRun: []string{metav1.DryRunAll},
	})
}

// changesOf returns a JSON patch that makes one object the other. An account that applies may patch, and not update.
func changesOf(from, to map[string]any) ([]byte, error) {
	version, _, _ := unstructured.NestedString(from, "metadata", "resourceVersion")
	patch := []map[string]any{{"op": "replace", "path": "/metadata/resourceVersion", "value": version}}
	for _, field := range slices.Sorted(maps.Keys(to)) {
		if !equality.Semantic.DeepEqual(from[field], to[field]) {
			patch = append(patch, map[string]any{"op": "add", "path": "/" + field, "value": to[field]})
		}
	}
	for _, field := range slices.Sorted(maps.Keys(from)) {
		if _, stays := to[field]; !stays {
			patch = append(patch, map[string]any{"op": "remove", "path": "/" + field})
		}
	}
	return json.Marshal(patch)
}

// neededError names the fields that a manifest excludes and that somebody else needs. A person has to decide.
type neededError struct {
	key    manifests.Key
	fields []neededField
}

// neededField is an excluded field, with the managers that need it. It has no managers if only a person may drop it.
type neededField struct {
	serverrules.Branch
	managers []string
}

func (e *neededError) Error() string {
	named := make([]string, 0, len(e.fields))
	for _, f := range e.fields {
		by := "nobody owns it"
		switch len(f.managers) {
		case 0:
		case 1:
			by = "the field manager " + f.managers[0] + " owns it"
		default:
			by = "the field managers " + strings.Join(f.managers, ", ") + " own it"
		}
		named = append(named, f.Text+" of the object, and "+by)
	}
	field, it := "field", "it"
	if len(e.fields) > 1 {
		field, it = "fields", "them"
	}
	return fmt.Sprintf("the manifest excludes %s; stop whatever sets the %s, and remove %s: %s",
		strings.Join(named, "; it excludes "), field, it, e.command())
}

// command returns a command that removes all fields, in one step, because the API server may refuse an object that has
// only some of them. If the removal alone has no effect or is invalid, the command sets the discriminators, too, or
// leaves the change to the user.
func (e *neededError) command() string {
	object := argumentsOf(e.key)
	var removals, discriminators []map[string]any
	for _, f := range e.fields {
		if f.Discriminator == "" {
			return "kubectl edit " + object
		}
		removals = append(removals, map[string]any{"op": "remove", "path": f.Pointer})
		set := map[string]any{"op": "add", "path": f.Discriminator, "value": f.Value}
		if !slices.ContainsFunc(discriminators, func(d map[string]any) bool { return d["path"] == f.Discriminator }) {
			discriminators = append(discriminators, set)
		}
	}
	data, err := json.Marshal(append(removals, discriminators...))
	if err != nil {
		return "kubectl edit " + object
	}
	return fmt.Sprintf("kubectl patch %s --type=json -p '%s'", object, data)
}

// argumentsOf returns the arguments of kubectl that name an object.
func argumentsOf(key manifests.Key) string {
	object := strings.ToLower(key.Kind)
	if key.Group != "" {
		object += "." + key.Group
	}
	if key.Namespace != "" {
		object = "-n " + key.Namespace + " " + object
	}
	return object + " " + key.Name
}

// maxOthers is the maximum number of fields of others that a message names.
const maxOthers = 3

// nameOthers adds to the message about a refused update of a custom resource which fields beside those of the manifest
// the object has, and who owns them. A rule of its type may permit only some of them together, but no table says which.
// The object is read once for that, as the identity of the component.
func (e *Executor) nameOthers(ctx context.Context, f *plan.Failure, a plan.Action, refusal error) {
	updates := a.Verb == plan.VerbApply || a.Verb == plan.VerbReplace
	if a.Object == nil || !updates || !apierrors.IsInvalid(refusal) || builtintypes.IsBuiltIn(a.Key.Group) {
		return
	}
	whole, err := a.Object.Whole()
	if err != nil {
		return
	}
	live, err := e.Live(ctx, a)
	if err != nil || live == nil {
		return
	}
	var others []string
	for _, field := range refusedFields(refusal) {
		others = append(others, othersBelow(field, whole.Body.Object, live, e.writer.view)...)
	}
	slices.Sort(others)
	others = slices.Compact(others)
	if len(others) == 0 {
		return
	}
	named := strings.Join(others[:min(len(others), maxOthers)], ", ")
	f.Message += fmt.Sprintf("; the object also has %s, which the manifest does not set; if the manifest excludes it, "+
		"stop whatever sets it, and remove it: kubectl edit %s", named, argumentsOf(a.Key))
}

// othersBelow returns the fields of others beside the fields of a manifest, in the map at a refused field, or in the
// map that has this field.
func othersBelow(field string, manifest map[string]any, live *unstructured.Unstructured, view inspect.View) []string {
	path, _, _ := strings.Cut(field, "[")
	names := strings.Split(strings.Trim(path, "."), ".")
	current, found, err := unstructured.NestedMap(live.Object, names...)
	if err != nil && len(names) > 1 {
		names = names[:len(names)-1]
		current, found, err = unstructured.NestedMap(live.Object, names...)
	}
	if err != nil || !found {
		return nil
	}
	desired, _, _ := unstructured.NestedMap(manifest, names...)
	var others []string
	for _, name := range slices.Sorted(maps.Keys(current)) {
		if _, set := desired[name]; set {
			continue
		}
		at := append(slices.Clone(names), name)
		if manager, ours := managerOf(at, view.OwnFields(live.GetManagedFields()), view.Reconciler); !ours {
			others = append(others, fmt.Sprintf("%s (of %s)", strings.Join(at, "."), manager))
		}
	}
	return others
}

// managerOf says who owns a field, and whether only the reconciler does.
func managerOf(path []string, entries []metav1.ManagedFieldsEntry, reconciler string) (manager string, ours bool) {
	var steps []any
	for _, name := range path {
		steps = append(steps, name)
	}
	field := serverrules.Branch{Path: fieldpath.MakePathOrDie(steps...)}
	for _, entry := range entries {
		fields, err := fieldsIn(entry)
		if err != nil || field.Below(fields).Empty() {
			continue
		}
		if entry.Manager != reconciler {
			return "the field manager " + entry.Manager, false
		}
		ours = true
	}
	return "no field manager", ours
}
