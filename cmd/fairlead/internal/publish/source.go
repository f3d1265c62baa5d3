package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
	// SourceKey is the key of the archive, or of a part of it.
	SourceKey = "source.tgz"
	// LabelSourceOf is a label. Its value is the name of the component, shortened to the length of a label.
	LabelSourceOf = "fairlead.io/source-of"
	// AnnotationDigest contains the digest of the content of the whole source.
	AnnotationDigest = "fairlead.io/source-digest"

	labelManagedBy  = "app.kubernetes.io/managed-by"
	maxNameLength   = 253
	maxLabelLength  = 63
	digestInName    = 12
	maxPartInName   = len("-32")
	shortenedSuffix = 10
)

// stored is a source in its ConfigMaps: an archive in one of them, or the parts of an archive in several. The names
// depend on the content, and the ConfigMaps are immutable, so a component's source never changes without a change of
// its spec. A source behind a URL has no ConfigMaps.
type stored struct {
	target cluster.Target
	// digest identifies the content of the archive, and sha256 its bytes.
	digest, sha256 string
	parts          []part
	// url is the address of the archive, or empty.
	url string
}

// part is one ConfigMap of a source.
type part struct {
	name string
	data []byte
}

// newSource returns the source of an archive. The name of a single ConfigMap depends on the content of the archive. The
// names of several depend on its bytes: parts of archives that were packed differently do not fit together.
func newSource(target cluster.Target, archive Archive) stored {
	s := stored{target: target, digest: archive.Digest, sha256: digestOf(archive.Data), url: archive.URL}
	if archive.URL != "" {
		return s
	}
	if len(archive.Data) <= packed.MaxConfigMapArchive {
		s.parts = []part{{name: prefixOf(target.Name) + archive.Digest[:digestInName], data: archive.Data}}
		return s
	}
	for start := 0; start < len(archive.Data); start += packed.MaxConfigMapArchive {
		s.parts = append(s.parts, part{
			name: fmt.Sprintf("%s%s-%d", prefixOfParts(target.Name), s.sha256[:digestInName], len(s.parts)+1),
			data: archive.Data[start:min(start+packed.MaxConfigMapArchive, len(archive.Data))],
		})
	}
	return s
}

// digestOf returns the digest of the bytes of an archive.
func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// prefixOf returns the beginning of the names of a component's sources.
func prefixOf(component string) string {
	return shorten(component, maxNameLength-digestInName-1) + "-"
}

// prefixOfParts returns the beginning of the names of the parts of a component's sources.
func prefixOfParts(component string) string {
	return shorten(component, maxNameLength-digestInName-1-maxPartInName) + "-"
}

// Names reports whether a ConfigMap has the name of a source of the component, or of a part of such a source.
func Names(component, configMap string) bool {
	name, isPart := cutPart(configMap)
	prefix := prefixOf(component)
	if isPart {
		prefix = prefixOfParts(component)
	}
	digest, ok := strings.CutPrefix(name, prefix)
	_, err := hex.DecodeString(digest)
	return ok && err == nil && len(digest) == digestInName
}

// cutPart returns the name of a ConfigMap without the number of its part. Numbers consist of at most two digits, and
// digests have more.
func cutPart(configMap string) (name string, isPart bool) {
	at := strings.LastIndexByte(configMap, '-')
	if at < 0 || len(configMap)-at > maxPartInName {
		return configMap, false
	}
	if _, err := strconv.Atoi(configMap[at+1:]); err != nil {
		return configMap, false
	}
	return configMap[:at], true
}

// groupOf returns the common name of the ConfigMaps of a source: that of its only ConfigMap, or that of all parts
// without their numbers.
func groupOf(component, configMap string) string {
	if name, isPart := cutPart(configMap); isPart && Names(component, configMap) {
		return name
	}
	return configMap
}

// shorten returns a name of at most this length. Different long names have different short names.
func shorten(name string, length int) string {
	if len(name) <= length {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:length-shortenedSuffix-1] + "-" + hex.EncodeToString(sum[:])[:shortenedSuffix]
}

// labels returns the labels of all sources of a component.
func labels(target cluster.Target) map[string]string {
	return map[string]string{
		labelManagedBy: cluster.FieldOwner,
		LabelSourceOf:  shorten(target.Name, maxLabelLength),
	}
}

// group returns the common name of the ConfigMaps, empty if there are none.
func (s stored) group() string {
	if len(s.parts) == 0 {
		return ""
	}
	return groupOf(s.target.Name, s.parts[0].name)
}

// names returns the names of the ConfigMaps.
func (s stored) names() []string {
	names := make([]string, 0, len(s.parts))
	for _, p := range s.parts {
		names = append(names, p.name)
	}
	return names
}

// isDivided reports whether the source consists of several ConfigMaps.
func (s stored) isDivided() bool { return len(s.parts) > 1 }

// spec returns the field spec.source of a component with this source.
func (s stored) spec() map[string]any {
	if s.url != "" {
		return map[string]any{"http": map[string]any{"url": s.url, "sha256": s.sha256}}
	}
	if !s.isDivided() {
		return map[string]any{"configMap": map[string]any{"name": s.parts[0].name}}
	}
	names := make([]any, 0, len(s.parts))
	for _, name := range s.names() {
		names = append(names, name)
	}
	return map[string]any{"configMaps": map[string]any{"names": names, "sha256": s.sha256}}
}

// configMaps returns the ConfigMaps without an owner. They get an owner when their component refers to them; until then
// tidy leaves them alone.
func (s stored) configMaps() []*corev1.ConfigMap {
	maps := make([]*corev1.ConfigMap, 0, len(s.parts))
	for _, p := range s.parts {
		maps = append(maps, s.configMap(p))
	}
	return maps
}

func (s stored) configMap(p part) *corev1.ConfigMap {
	immutable := true
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.target.Namespace, Name: p.name,
			Labels:      labels(s.target),
			Annotations: map[string]string{AnnotationDigest: "sha256:" + s.digest},
		},
		Immutable:  &immutable,
		BinaryData: map[string][]byte{SourceKey: p.data},
	}
}

// ownerReferences returns the owner reference to the component, so that the source is deleted with it.
func (s stored) ownerReferences(uid types.UID) []metav1.OwnerReference {
	apiVersion, kind := s.target.Mapping.GroupVersionKind.ToAPIVersionAndKind()
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: s.target.Name, UID: uid}}
}

// provide creates the ConfigMaps that do not exist, and returns them. The owner is the UID of the component, or empty
// if the component does not exist yet.
func (p *Publisher) provide(ctx context.Context, s stored, owner types.UID) ([]*corev1.ConfigMap, error) {
	var created []*corev1.ConfigMap
	for _, piece := range s.parts {
		configMap, err := p.providePart(ctx, s, piece, owner)
		if err != nil {
			return nil, err
		}
		if configMap != nil {
			created = append(created, configMap)
		}
	}
	return created, nil
}

// providePart creates a ConfigMap, and returns it. It returns nil if the ConfigMap exists.
func (p *Publisher) providePart(
	ctx context.Context, s stored, piece part, owner types.UID,
) (*corev1.ConfigMap, error) {
	for range maxAttempts {
		have := &corev1.ConfigMap{}
		err := p.Client.Get(ctx, types.NamespacedName{Namespace: s.target.Namespace, Name: piece.name}, have)
		switch {
		case apierrors.IsNotFound(err):
			created := s.configMap(piece)
			err = p.Client.Create(ctx, created)
			if apierrors.IsAlreadyExists(err) {
				continue
			}
			if err != nil {
				return nil, s.explain(err)
			}
			p.Done(fmt.Sprintf("configmap/%s created", piece.name))
			return created, nil
		case err != nil:
			return nil, err
		case have.DeletionTimestamp != nil || !s.holds(piece, have):
			return nil, exit.Refuse("configmap/%s in namespace %q has content that does not match its name; make sure "+
				"that no other component names it in spec.source, delete it, and apply again", piece.name, s.target.Namespace)
		case !willBeCollected(have, owner):
			return nil, nil
		}
		if err := p.Client.Delete(ctx, have, client.Preconditions{UID: &have.UID}); client.IgnoreNotFound(err) != nil &&
			!apierrors.IsConflict(err) {
			return nil, err
		}
	}
	return nil, exit.Refuse("configmap/%s is created and deleted by other clients continuously; apply again", piece.name)
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

// holds reports whether an existing ConfigMap has the same content and labels. The archive of a single ConfigMap may be
// packed differently; the name of a part stands for its bytes.
func (s stored) holds(piece part, have *corev1.ConfigMap) bool {
	if have.Immutable == nil || !*have.Immutable || len(have.Data) > 0 || len(have.BinaryData) != 1 {
		return false
	}
	if have.Labels[LabelSourceOf] != labels(s.target)[LabelSourceOf] {
		return false
	}
	data := have.BinaryData[SourceKey]
	return bytes.Equal(data, piece.data) || !s.isDivided() && contentOf(data) == s.digest
}

// contentOf returns the digest of the content of an archive, empty if it cannot be unpacked.
func contentOf(archive []byte) string {
	content, err := packed.Unpack(archive, packed.Limits{})
	if err != nil {
		return ""
	}
	digest, err := packed.Digest(content)
	if err != nil {
		return ""
	}
	return digest
}

// explain returns a hint if the namespace does not exist, or if the cluster does not know sources of several
// ConfigMaps.
func (s stored) explain(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return exit.Refuse("namespace %q does not exist; create it first", s.target.Namespace)
	case s.isDivided() && isAboutSource(err):
		return exit.Refuse("%w; the source needs %d ConfigMaps, which the definition of Component in this cluster may be "+
			"too old for: upgrade the operator, or make the source smaller", err, len(s.parts))
	}
	return err
}

// isAboutSource reports whether the API server refuses the field spec.source of a component.
func isAboutSource(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Details != nil &&
		slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool {
			return cause.Field == "spec.source" || strings.HasPrefix(cause.Field, "spec.source.")
		})
}
