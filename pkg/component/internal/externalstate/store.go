package externalstate

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/apitext"
	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var secretResource = corev1.SchemeGroupVersion.WithResource("secrets")

// Store reads, writes and deletes the recorded states of externals. It is safe for concurrent use.
type Store struct {
	// Records contains the clients, and the names, labels and finalizers of the Secrets.
	Records *records.Store
}

// Load reads the states of the externals of a component: one request for the list of Secrets, and one for each Secret.
// Unless the listed Secrets are all that may exist, it sends one more, because another client may have removed a label.
// last is the result of the last Load or Write of this process for the component, or nil. With it, Load reads only
// Secrets that changed, and recognises Secrets that were removed or replaced by an older version.
func (s *Store) Load(ctx context.Context, owner manifests.Owner, last *Record) (*Record, error) {
	r := &Record{owner: owner, namespace: s.Records.NamespaceOf(owner)}
	if last == nil || last.owner != owner {
		last = r
	}
	listed, err := s.Records.ListKind(ctx, owner, records.Externals)
	if err == nil && !isComplete(listed, last) {
		listed, err = s.Records.AddExternals(ctx, owner, listed)
	}
	if err != nil {
		return nil, problem("list the Secrets with states of externals in namespace "+r.namespace, err)
	}
	for i := range listed {
		loaded, err := s.load(ctx, owner, &listed[i], last)
		if err != nil {
			return nil, err
		}
		if loaded != nil {
			r = r.put(loaded)
		}
	}
	for _, previous := range last.secrets {
		if r.secret(previous.number) == nil && len(previous.held) > 0 {
			r = r.put(previous.removed())
		}
	}
	return r, nil
}

// isComplete reports whether listed Secrets cover all numbers from zero to the highest one, and those of the last
// record.
func isComplete(listed []metav1.PartialObjectMetadata, last *Record) bool {
	numbers := map[int]bool{}
	for i := range listed {
		numbers[records.NumberOf(listed[i].Name)] = true
	}
	for number := range len(listed) {
		if !numbers[number] {
			return false
		}
	}
	isListed := func(s *secret) bool { return numbers[s.number] || len(s.held) == 0 }
	return len(listed) > 0 && !slices.ContainsFunc(last.secrets, func(s *secret) bool { return !isListed(s) })
}

// load reads a Secret, unless last has the same version. It returns nil if the Secret does not exist any more, or has
// a name that this package gives to no Secret.
func (s *Store) load(
	ctx context.Context, owner manifests.Owner, listed *metav1.PartialObjectMetadata, last *Record,
) (*secret, error) {
	number := records.NumberOf(listed.Name)
	if number < 0 || number >= maxSecrets || listed.Name != records.ExternalsName(owner.ID(), number) {
		return nil, nil
	}
	previous := last.secret(number)
	if previous != nil && previous.uid == string(listed.UID) && previous.version == listed.ResourceVersion {
		return previous, nil
	}
	object, err := s.Records.Get(ctx, types.NamespacedName{Namespace: listed.Namespace, Name: listed.Name})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, problem("read the states of externals in Secret "+last.fullName(number), err)
	}
	if object.GetUID() != listed.UID || object.GetResourceVersion() != listed.ResourceVersion {
		// The Secret changed meanwhile, or an old version was read. Calls that need no further write must not be based on
		// such a version.
		return nil, apierrors.NewConflict(secretResource.GroupResource(), listed.Name,
			errors.New("another version of it was listed"))
	}
	loaded, err := read(ctx, owner, object, s.Records.Marks.IsIntact(object))
	if err != nil || previous == nil {
		return loaded, err
	}
	return loaded.notBefore(previous), nil
}

// read returns the content of a Secret. It returns an error only if the budget is exhausted.
func read(
	ctx context.Context, owner manifests.Owner, object *unstructured.Unstructured, isIntact bool,
) (*secret, error) {
	s := &secret{
		number: records.NumberOf(object.GetName()), uid: string(object.GetUID()), version: object.GetResourceVersion(),
		finalizers: object.GetFinalizers(), isDeleted: object.GetDeletionTimestamp() != nil, held: map[string]*holding{},
	}
	texts, _ := object.Object["data"].(map[string]any)
	if len(texts) > maxKeys {
		s.cause = TooLarge
		return s, nil
	}
	data, err := dataOf(ctx, texts)
	if err != nil {
		return nil, err
	}
	s.readData(owner, data, isIntact)
	return s, nil
}

// dataOf decodes the data of a Secret, and reserves its share of the budget, and that of the values in it. A text that
// is not base64 becomes an empty value, which is damaged.
func dataOf(ctx context.Context, texts map[string]any) (map[string][]byte, error) {
	const copies = 4
	bytes := int64(0)
	for dataKey, text := range texts {
		text, _ := text.(string)
		bytes += copies*int64(len(text)+len(dataKey)) + 4*budget.NodeBytes
	}
	if err := budget.Reserve(ctx, bytes); err != nil {
		return nil, err
	}
	data, nodes := make(map[string][]byte, len(texts)), int64(0)
	for dataKey, text := range texts {
		text, _ := text.(string)
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			decoded = nil
		}
		data[dataKey] = decoded
		if counted, err := bounded.JSON(decoded, bounded.Limits{}); err == nil {
			nodes += int64(counted)
		}
	}
	return data, budget.Reserve(ctx, nodes*budget.NodeBytes)
}

// Read reads the states of the externals of a component from the Secrets in a namespace, for a reader who need not have
// the right to list Secrets: one request for each Secret, and one more. Secrets after a removed one are not read.
func Read(ctx context.Context, get records.Get, owner manifests.Owner, namespace string) (*Record, error) {
	store := records.NewStore(records.Options{Reconciler: owner.Reconciler})
	r := &Record{owner: owner, namespace: namespace}
	for number := range maxSecrets {
		name := types.NamespacedName{Namespace: namespace, Name: records.ExternalsName(owner.ID(), number)}
		object, err := get(ctx, name)
		if apierrors.IsNotFound(err) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read Secret %s: %w", name, err)
		}
		if !store.Marks.IsMarked(object, owner) && !store.Marks.IsIntact(object) {
			continue
		}
		loaded, err := read(ctx, owner, object, store.Marks.IsIntact(object))
		if err != nil {
			return nil, err
		}
		r = r.put(loaded)
	}
	return r, nil
}

// Write records states, and returns the record with them. nil removes a key. r is the result of the last Load or Write.
//
// Write sends one request for each Secret that changes, and more only if a state does not fit into its Secret any more.
// If r is not current, because another process wrote a Secret, the error satisfies apierrors.IsConflict. After any
// error it is not known which Secrets were written, so the caller must load the states again.
//
// A damaged state is replaced or removed only if changes has its key; the other damaged states stay damaged. Content of
// a newer version is never replaced. Nothing is written if a state is invalid or exceeds a limit.
func (s *Store) Write(
	ctx context.Context, owner manifests.Owner, r *Record, changes map[manifests.Key]*State,
) (*Record, error) {
	if len(changes) == 0 {
		return r, nil
	}
	if r == nil || r.owner != owner {
		return nil, fmt.Errorf("the states of the externals of %s were not loaded", owner.Component())
	}
	values, err := encodeAll(owner, changes)
	if err != nil {
		return nil, terminal(metav1alpha1.ReasonInvalidManifests, "%v", err)
	}
	if err := r.checkVersion(values); err != nil {
		return nil, terminal(metav1alpha1.ReasonNewerRecord, "%v", err)
	}
	planned, err := place(r, values)
	if err != nil {
		return nil, terminal(metav1alpha1.ReasonInvalidManifests, "%v", err)
	}
	name := types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}
	if err := s.Records.VerifyCluster(ctx, name); err != nil {
		return nil, err
	}
	if r, err = s.writeAll(ctx, r, planned); err != nil {
		return nil, err
	}
	moved := edits{}
	for number, e := range planned {
		for dataKey := range e.move {
			moved.of(number).drop[dataKey] = true
		}
	}
	return s.writeAll(ctx, r, moved)
}

// writeAll carries out edits in the order of the numbers of the Secrets. The mark of a state that moves is so written
// before the state.
func (s *Store) writeAll(ctx context.Context, r *Record, planned edits) (*Record, error) {
	for _, number := range slices.Sorted(maps.Keys(planned)) {
		written, err := s.write(ctx, r, number, planned[number])
		if err != nil {
			return nil, err
		}
		r = r.put(written)
	}
	return r, nil
}

func (s *Store) write(ctx context.Context, r *Record, number int, e *edit) (*secret, error) {
	previous := r.secret(number)
	if previous == nil {
		previous = &secret{number: number, held: map[string]*holding{}}
	}
	next := previous.with(r.owner, e)
	index, err := next.index(r.owner)
	if err != nil {
		return nil, err
	}
	object := s.Records.Externals(ctx, r.owner, records.ExternalsSecret{
		Number: number, Index: index, Left: next.left(), Finalizers: previous.finalizers, IsDeleted: previous.isDeleted,
	})
	data, _ := object.Object["data"].(map[string]any)
	for dataKey := range e.drop {
		data[dataKey] = nil
	}
	for dataKey, v := range e.set {
		data[dataKey] = base64.StdEncoding.EncodeToString(v.data)
	}
	var written metav1.Object
	if previous.version == "" {
		maps.DeleteFunc(data, func(_ string, text any) bool { return text == nil })
		written, err = s.create(ctx, r, object)
	} else {
		written, err = s.patch(ctx, previous, object)
	}
	if err != nil {
		return nil, problem("write the states of externals to Secret "+r.fullName(number), err)
	}
	next.uid, next.version = string(written.GetUID()), written.GetResourceVersion()
	next.finalizers = written.GetFinalizers()
	return next, nil
}

// create creates a Secret. If it exists, the error is a conflict if another process of the reconciler created it.
func (s *Store) create(ctx context.Context, r *Record, object *unstructured.Unstructured) (metav1.Object, error) {
	secrets := s.Records.Dynamic.Resource(secretResource).Namespace(object.GetNamespace())
	created, err := secrets.Create(ctx, object, metav1.CreateOptions{FieldManager: s.Records.Reconciler})
	if !apierrors.IsAlreadyExists(err) {
		return created, err
	}
	existing, readErr := s.Records.Metadata.Resource(secretResource).Namespace(object.GetNamespace()).
		Get(ctx, object.GetName(), metav1.GetOptions{})
	if readErr == nil && !s.Records.Marks.IsMarked(existing, r.owner) {
		return nil, terminal(metav1alpha1.ReasonOwnershipConflict, "Secret %s/%s exists, but does not have the label "+
			"and the annotation of a record of %s; restore them; if it is no such record, save it under another name; "+
			"deleted, a record loses what it says about externals",
			object.GetNamespace(), object.GetName(), r.owner.Component())
	}
	return nil, apierrors.NewConflict(secretResource.GroupResource(), object.GetName(), err)
}

// patch changes a Secret that has not changed since it was read. The response has no data.
func (s *Store) patch(
	ctx context.Context, previous *secret, object *unstructured.Unstructured,
) (*metav1.PartialObjectMetadata, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"resourceVersion": previous.version,
			"labels":          object.GetLabels(),
			"annotations":     object.GetAnnotations(),
			"finalizers":      object.GetFinalizers(),
		},
		"data": object.Object["data"],
	})
	if err != nil {
		return nil, err
	}
	secrets := s.Records.Metadata.Resource(secretResource).Namespace(object.GetNamespace())
	options := metav1.PatchOptions{FieldManager: s.Records.Reconciler}
	return secrets.Patch(ctx, object.GetName(), types.MergePatchType, patch, options)
}

// Delete deletes the Secrets with the states of the externals of a component. The caller has made sure that no external
// needs its state any more.
func (s *Store) Delete(ctx context.Context, owner manifests.Owner) error {
	if err := s.Records.Remover.Delete(ctx, owner, records.Externals); err != nil {
		return problem("delete the Secrets with states of externals in namespace "+s.Records.NamespaceOf(owner), err)
	}
	return nil
}

// terminal returns the error for a write that cannot succeed until a person changes something.
func terminal(reason, format string, args ...any) error {
	return &passerror.Error{Reason: reason, Message: fmt.Sprintf(format, args...), Terminal: true}
}

// problem returns the error for a failed request. A missing right, and a refusal by a quota or a policy, become
// condition errors; see records.Problem.
func problem(action string, err error) error {
	if _, ok := errors.AsType[*passerror.Error](err); ok {
		return err
	}
	if apitext.MissingRight(err) || records.IsRefused(err) {
		return records.Problem(action, err)
	}
	return fmt.Errorf("%s: %w", action, err)
}
