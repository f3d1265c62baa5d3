package records

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/apitext"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rights"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var secretResource = corev1.SchemeGroupVersion.WithResource("secrets")

// Options configure a Store.
type Options struct {
	// Reconciler is the name of the reconciler: the field manager, and the prefix of labels and annotations.
	Reconciler string
	// Namespace is the namespace of the records of cluster-scoped components.
	Namespace string
	// Dynamic and Metadata are clients for the cluster in which the components are stored, with the operator's own
	// rights.
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
	// NamespaceGoes reports whether a namespace is being deleted or does not exist.
	NamespaceGoes func(ctx context.Context, namespace string) bool
	// VerifyCluster is called before a write for a component. It returns an error unless the owner id of the component
	// contains the id of the cluster in which the component is stored.
	VerifyCluster func(ctx context.Context, name types.NamespacedName) error
	Clock         clock.PassiveClock
}

// Store reads and writes the records of components. It is safe for concurrent use.
//
// The Secrets of records are not dependents, so they have no owner label and are in no inventory. They have a
// finalizer, so that the deletion of their namespace does not delete them before the dependents. If the operator may
// not patch Secrets in all namespaces, they have no finalizer; see accessReview.
type Store struct {
	Options
	// Finalizers are the finalizers on Secrets with kubeconfigs.
	Finalizers Finalizers
	// Marks read the labels and annotations of Secrets.
	Marks Marks
	// Remover deletes records.
	Remover Remover

	own    ownSecrets
	review accessReview
}

// NewStore returns a store.
func NewStore(o Options) *Store {
	m := Marks(o.Reconciler)
	s := &Store{
		Options: o, Marks: m,
		Finalizers: Finalizers{marks: m, metadata: o.Metadata, verifyCluster: o.VerifyCluster},
		review:     accessReview{dynamic: o.Dynamic, clock: o.Clock},
	}
	s.own = ownSecrets{marks: m, metadata: o.Metadata, get: s.Get}
	s.Remover = Remover{s}
	return s
}

// Get reads a Secret.
type Get func(ctx context.Context, name types.NamespacedName) (*unstructured.Unstructured, error)

// NamespaceOf returns the namespace of the records of an owner. All cluster-scoped components use Options.Namespace.
// The namespaces of their dependents cannot be used, because they may be dependents themselves and deleted first.
func (s *Store) NamespaceOf(owner manifests.Owner) string {
	if owner.Namespace == "" {
		return s.Namespace
	}
	return owner.Namespace
}

// Problem returns the condition error for a failed request about records. action describes the request in the
// infinitive, for example "read the record".
func Problem(action string, err error) error {
	p := &passerror.Error{Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("%s: %v", action, err)}
	if apitext.MissingRight(err) {
		p.Reason, p.Terminal = metav1alpha1.ReasonForbidden, true
		p.Message += "; " + rights.Grant
	}
	if by := apitext.Refuser(err); by != "" {
		// The text of the API server contains the name of the Secret, which may be another one in each pass.
		p.Reason, p.Terminal = metav1alpha1.ReasonForbidden, true
		p.Message = fmt.Sprintf("%s: %s refuses the Secrets with the records of the component; %s", action, by, Permit)
	}
	return p
}

// IsRefused reports whether a quota, a policy or a webhook refused a Secret with a record.
func IsRefused(err error) bool { return apitext.Refuser(err) != "" }

// Permit is the advice about a quota, policy or webhook that refuses the writes of the operator about a component. The
// component may contain it: then a revision that adds objects cannot remove it, because it begins with such a write.
const Permit = "let it permit the writes of the operator; if the component renders it, leave it out in a revision that " +
	"adds no object, or correct its manifest and then delete it with kubectl; the deletion of the component deletes it, too"

// Unreachable reports whether err means that a request for records was forbidden, while the namespace of the records is
// being deleted. In such a namespace no right can be granted. The records are deleted with the namespace, unless they
// have a finalizer.
func (s *Store) Unreachable(ctx context.Context, owner manifests.Owner, err error) bool {
	return apierrors.IsForbidden(err) && s.NamespaceGoes(ctx, s.NamespaceOf(owner))
}

// Write writes the Secrets of a record, one for each part (see Encode). It overwrites Secrets that exist, because an
// earlier process may have written some of them and crashed before the status named them.
func (s *Store) Write(ctx context.Context, owner manifests.Owner, rec Record, parts [][]byte) error {
	if err := s.VerifyCluster(ctx, types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}); err != nil {
		return err
	}
	secrets := s.Dynamic.Resource(secretResource).Namespace(s.NamespaceOf(owner))
	annotations := s.Marks.annotations(owner, rec, len(parts), s.Clock.Now().UTC().Format(timeFormat))
	withFinalizer := s.withFinalizer(ctx, owner)
	for i, part := range parts {
		secret := s.secret(owner, rec, i, maps.Clone(annotations), part)
		if withFinalizer {
			secret.SetFinalizers([]string{s.Marks.finalizer()})
		}
		apply := metav1.ApplyOptions{FieldManager: s.Reconciler, Force: true}
		if _, err := secrets.Apply(ctx, secret.GetName(), secret, apply); err != nil {
			return err
		}
	}
	return nil
}

// withFinalizer reports whether the records of an owner get a finalizer. The records of cluster-scoped components
// always get one, because their namespace is not deleted together with a component.
func (s *Store) withFinalizer(ctx context.Context, owner manifests.Owner) bool {
	return owner.Namespace == "" || s.review.mayPatchAnywhere(ctx)
}

func (s *Store) secret(
	owner manifests.Owner, rec Record, number int, annotations map[string]any, part []byte,
) *unstructured.Unstructured {
	name, data := secretName(rec.Kind, owner.ID(), rec.ID, number), base64.StdEncoding.EncodeToString(part)
	annotations[s.Marks.name(annotationDigest)] = digestOf(name, data)
	values := map[string]any{rec.Kind.dataKey(): data}
	if number == 0 && rec.Proof != (Proof{}) {
		values[saltKey] = base64.StdEncoding.EncodeToString([]byte(rec.Proof.Salt))
		values[headerKey] = base64.StdEncoding.EncodeToString([]byte(rec.Proof.Header))
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{
			"namespace":   s.NamespaceOf(owner),
			"name":        name,
			"labels":      s.Marks.labels(owner),
			"annotations": annotations,
		},
		"data": values,
	}}
}

// Read reads a record, and decodes its content into content. It returns a LostError if the record does not exist,
// cannot be decoded, its digest differs from the digest in its annotation, or its id has a proof and does not prove the
// record. The caller must know whether the id itself can be trusted; see Found.
func (s *Store) Read(ctx context.Context, owner manifests.Owner, kind Kind, id string, content any) (Record, error) {
	rec, edited := Record{Kind: kind, ID: id}, ""
	prefix := NamePrefix(kind, owner.ID(), id)
	data, err := readParts(ctx, s.Get, kind, s.NamespaceOf(owner), prefix, 1, func(secret *unstructured.Unstructured) int {
		if secret.GetName() == prefix+"-0" {
			rec.Proof = proofOf(secret)
		}
		rec.Note = secret.GetAnnotations()[s.Marks.name(annotationNote)]
		rec.ValuesLost = secret.GetAnnotations()[s.Marks.name(annotationValuesLost)] != ""
		rec.Origin = s.Marks.OriginOf(secret)
		rec.Capabilities = secret.GetAnnotations()[s.Marks.name(annotationCapabilities)]
		parts, _ := strconv.Atoi(secret.GetAnnotations()[s.Marks.name(annotationParts)])
		if secret.GetAnnotations()[s.Marks.name(annotationDigest)] != "" && !s.Marks.IsIntact(secret) {
			edited = secret.GetName()
		}
		return parts
	})
	if err != nil {
		return Record{}, err
	}
	if edited != "" {
		return Record{}, &LostError{fmt.Sprintf("the content of Secret %s/%s does not match its digest, because somebody "+
			"edited it, or copied it from another Secret", s.NamespaceOf(owner), edited)}
	}
	if err := rec.verify(data); err != nil {
		return Record{}, fmt.Errorf("the record with Secret %s/%s-0: %w", s.NamespaceOf(owner), prefix, err)
	}
	return rec, decode(ctx, kind, data, content)
}

// Get reads a Secret; see type Get.
func (s *Store) Get(ctx context.Context, name types.NamespacedName) (*unstructured.Unstructured, error) {
	return s.Dynamic.Resource(secretResource).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
}

// ReadInventory reads the lines of an inventory. It returns a LostError if a part is missing or damaged.
func ReadInventory(ctx context.Context, get Get, from metav1alpha1.InventoryRecord) ([]string, error) {
	data, err := readParts(ctx, get, Inventory, from.Namespace, from.Name, int(from.Parts), nil)
	if err != nil {
		return nil, err
	}
	var lines []string
	return lines, decode(ctx, Inventory, data, &lines)
}

// partCopies is the number of copies of a part that are in memory at the same time: the part, its text in base64, and
// the record with a buffer that doubles.
const partCopies = 4

// readParts reads the data of a number of Secrets, with the names prefix-0, prefix-1 and so on. If visit is not nil, it
// is called with each Secret, and returns the total number of parts.
func readParts(
	ctx context.Context, get Get, kind Kind, namespace, prefix string, parts int,
	visit func(*unstructured.Unstructured) int,
) ([]byte, error) {
	var data []byte
	for i := 0; i < parts; i++ {
		name := types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("%s-%d", prefix, i)}
		secret, err := get(ctx, name)
		if apierrors.IsNotFound(err) {
			return nil, &LostError{fmt.Sprintf("Secret %s with a part of the record does not exist", name)}
		}
		if err != nil {
			return nil, err
		}
		if visit != nil {
			parts = visit(secret)
		}
		part, err := dataOf(secret, kind)
		if err != nil {
			return nil, err
		}
		if err := budget.Reserve(ctx, partCopies*int64(len(part))); err != nil {
			return nil, err
		}
		if data = append(data, part...); parts > maxParts || len(data) > maxRecord {
			return nil, &LostError{fmt.Sprintf("the record with Secret %s is damaged: it is too large", name)}
		}
	}
	return data, nil
}

// List returns the metadata of the Secrets of all records of an owner. It reads no data. A Secret with the label of a
// record and another name is not part of a record.
func (s *Store) List(ctx context.Context, owner manifests.Owner) ([]metav1.PartialObjectMetadata, error) {
	secrets := s.Metadata.Resource(secretResource).Namespace(s.NamespaceOf(owner))
	list, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: s.Marks.name(LabelRecord) + "=" + owner.ID()})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(secret metav1.PartialObjectMetadata) bool {
		return !isPartOf(secret.Name, owner.ID())
	}), nil
}

// ListKind returns the metadata of the Secrets of an owner's records of one kind.
func (s *Store) ListKind(
	ctx context.Context, owner manifests.Owner, kind Kind,
) ([]metav1.PartialObjectMetadata, error) {
	found, err := s.List(ctx, owner)
	return OfKind(found, kind), err
}

// Find returns the metadata of the Secrets of an owner's records of one kind: those with the label of a record, and the
// parts of the records with the given ids whose label another client removed or edited. A part without the label counts
// only if the reconciler wrote it. Find sends no request for a record whose parts were all listed. Secrets of the kind
// Externals need no ids: Find reads the first number that was not listed, and the numbers after it until one is
// missing.
func (s *Store) Find(
	ctx context.Context, owner manifests.Owner, kind Kind, ids ...string,
) ([]metav1.PartialObjectMetadata, error) {
	found, err := s.ListKind(ctx, owner, kind)
	if err != nil {
		return nil, err
	}
	if kind == Externals {
		return s.AddExternals(ctx, owner, found)
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if !isID(id) || s.Marks.isComplete(found, id) {
			continue
		}
		name := func(part int) string { return secretName(kind, owner.ID(), id, part) }
		if found, err = s.addUnlabelled(ctx, owner, found, name); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// AddExternals adds those Secrets of the kind Externals to found, the listed ones, whose label another client removed
// or edited; see Find.
func (s *Store) AddExternals(
	ctx context.Context, owner manifests.Owner, found []metav1.PartialObjectMetadata,
) ([]metav1.PartialObjectMetadata, error) {
	return s.addUnlabelled(ctx, owner, found, func(number int) string { return ExternalsName(owner.ID(), number) })
}

// ofID returns the Secrets of the record with an id.
func ofID(secrets []metav1.PartialObjectMetadata, id string) []metav1.PartialObjectMetadata {
	is := HasID(id)
	return slices.DeleteFunc(slices.Clone(secrets), func(secret metav1.PartialObjectMetadata) bool { return !is(secret) })
}

// addUnlabelled adds the Secrets to found whose names are those of the numbers from zero until one does not exist.
func (s *Store) addUnlabelled(
	ctx context.Context, owner manifests.Owner, found []metav1.PartialObjectMetadata, name func(number int) string,
) ([]metav1.PartialObjectMetadata, error) {
	secrets := s.Metadata.Resource(secretResource).Namespace(s.NamespaceOf(owner))
	for number := 0; number <= maxParts; number++ {
		if slices.ContainsFunc(found, func(listed metav1.PartialObjectMetadata) bool { return listed.Name == name(number) }) {
			continue
		}
		secret, err := secrets.Get(ctx, name(number), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		if own, err := s.own.wrote(ctx, secret); err != nil || !own {
			return found, err
		}
		found = append(found, *secret)
	}
	return found, nil
}

// ReadLatestInventory returns the lines of the newest complete inventory in the given secrets, or nil if no inventory
// is complete. It returns a LostError if the inventory cannot be read.
func (s *Store) ReadLatestInventory(
	ctx context.Context, owner manifests.Owner, secrets []metav1.PartialObjectMetadata,
) ([]string, error) {
	id := s.Marks.Latest(secrets, "")
	if id == "" {
		return nil, nil
	}
	latest := secrets[slices.IndexFunc(secrets, HasID(id))]
	parts, err := strconv.ParseInt(latest.Annotations[s.Marks.name(annotationParts)], 10, 32)
	if err != nil {
		return nil, nil
	}
	return ReadInventory(ctx, s.Get, metav1alpha1.InventoryRecord{
		Namespace: latest.Namespace, Name: NamePrefix(Inventory, owner.ID(), id), Parts: int32(parts),
	})
}
