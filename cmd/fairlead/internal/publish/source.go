package publish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	packed "github.com/fairlead-io/fairlead/pkg/source"
)

// Keys of the data, labels and annotations of source ConfigMaps.
const (
	// SourceKey is the key of the archive in the data of the ConfigMap.
	SourceKey = "source.tgz"
	// LabelSourceOf is a label. Its value is the name of the component, shortened to the length of a label.
	LabelSourceOf = "fairlead.io/source-of"
	// AnnotationDigest is an annotation. Its value is the digest of the archive's files.
	AnnotationDigest = "fairlead.io/source-digest"

	labelManagedBy  = "app.kubernetes.io/managed-by"
	maxNameLength   = 253
	maxLabelLength  = 63
	digestInName    = 12
	shortenedSuffix = 10
)

// sourceMap is the ConfigMap of an archive. Its name depends on the content, and it is immutable, so a component's
// source never changes without a change of its spec.
type sourceMap struct {
	target  cluster.Target
	archive Archive
	name    string
}

func newSource(target cluster.Target, archive Archive) sourceMap {
	prefix := shorten(target.Name, maxNameLength-digestInName-1)
	return sourceMap{target: target, archive: archive, name: prefix + "-" + archive.Digest[:digestInName]}
}

// Names reports whether a ConfigMap has the name of a source of the component.
func Names(component, configMap string) bool {
	digest, ok := strings.CutPrefix(configMap, shorten(component, maxNameLength-digestInName-1)+"-")
	_, err := hex.DecodeString(digest)
	return ok && err == nil && len(digest) == digestInName
}

// shorten returns a name of at most this length. Different long names have different short names.
func shorten(name string, length int) string {
	if len(name) <= length {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:length-shortenedSuffix-1] + "-" + hex.EncodeToString(sum[:])[:shortenedSuffix]
}

func (s sourceMap) labels() map[string]string {
	return map[string]string{
		labelManagedBy: cluster.FieldOwner,
		LabelSourceOf:  shorten(s.target.Name, maxLabelLength),
	}
}

// configMap returns the ConfigMap without an owner. The function tidy sets the owner once the component refers to the
// ConfigMap. Until then, tidy of another apply keeps the ConfigMap for an hour.
func (s sourceMap) configMap() *corev1.ConfigMap {
	immutable := true
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.target.Namespace, Name: s.name,
			Labels:      s.labels(),
			Annotations: map[string]string{AnnotationDigest: "sha256:" + s.archive.Digest},
		},
		Immutable:  &immutable,
		BinaryData: map[string][]byte{SourceKey: s.archive.Data},
	}
}

// owners returns the owner reference to the component, so that the source is deleted with it.
func (s sourceMap) owners(uid types.UID) []metav1.OwnerReference {
	apiVersion, kind := s.target.Mapping.GroupVersionKind.ToAPIVersionAndKind()
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: s.target.Name, UID: uid}}
}

// provide creates the ConfigMap unless it exists. The owner is the UID of the component, or empty if the component does
// not exist yet.
func (p *Publisher) provide(ctx context.Context, s sourceMap, owner types.UID) error {
	for range maxAttempts {
		have := &corev1.ConfigMap{}
		err := p.Client.Get(ctx, types.NamespacedName{Namespace: s.target.Namespace, Name: s.name}, have)
		switch {
		case apierrors.IsNotFound(err):
			err = p.Client.Create(ctx, s.configMap())
			if err == nil {
				p.Done(fmt.Sprintf("configmap/%s created", s.name))
			}
			if !apierrors.IsAlreadyExists(err) {
				return s.explain(err)
			}
			continue
		case err != nil:
			return err
		case have.DeletionTimestamp != nil || !s.holds(have):
			return exit.Refuse("configmap/%s in namespace %q has content that does not match its name; delete it, "+
				"and apply again", s.name, s.target.Namespace)
		case !willBeCollected(have, owner):
			return nil
		}
		if err := p.Client.Delete(ctx, have, client.Preconditions{UID: &have.UID}); client.IgnoreNotFound(err) != nil &&
			!apierrors.IsConflict(err) {
			return err
		}
	}
	return exit.Refuse("configmap/%s is created and deleted by other clients continuously; apply again", s.name)
}

// willBeCollected reports whether garbage collection will delete a source, because its owner is an earlier component of
// the same name.
func willBeCollected(have *corev1.ConfigMap, owner types.UID) bool {
	for _, ref := range have.OwnerReferences {
		if ref.UID == owner {
			return false
		}
	}
	return len(have.OwnerReferences) > 0
}

// holds reports whether an existing ConfigMap has the same files and labels. The compressed bytes may differ.
func (s sourceMap) holds(have *corev1.ConfigMap) bool {
	if have.Immutable == nil || !*have.Immutable || len(have.Data) > 0 || len(have.BinaryData) != 1 {
		return false
	}
	if have.Labels[LabelSourceOf] != s.labels()[LabelSourceOf] {
		return false
	}
	content, err := packed.Unpack(have.BinaryData[SourceKey], packed.Limits{})
	if err != nil {
		return false
	}
	digest, err := packed.Digest(content)
	return err == nil && digest == s.archive.Digest
}

// explain returns a hint if the namespace does not exist.
func (s sourceMap) explain(err error) error {
	if apierrors.IsNotFound(err) {
		return exit.Refuse("namespace %q does not exist; create it first", s.target.Namespace)
	}
	return err
}
