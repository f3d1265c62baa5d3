package records

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// sealed writes a record of two parts whose id proves it, and returns the id and the names of its Secrets.
func sealed(t *testing.T, s *Store) (id string, names []types.NamespacedName) {
	t.Helper()
	noise := make([]byte, 2*maxPart)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	parts, err := Encode(Rendering, []string{base64.StdEncoding.EncodeToString(noise)})
	if err != nil {
		t.Fatal(err)
	}
	rec := Record{Kind: Rendering, Origin: &Origin{InputDigest: "inputs", Revision: 7}, Capabilities: "c"}
	header := Header{Inputs: "inputs"}.WithCapabilities("c")
	if rec.ID, rec.Proof, err = NewProof(UsePinned, header, parts); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), owner("app"), rec, parts); err != nil {
		t.Fatal(err)
	}
	for i := range parts {
		name := secretName(Rendering, owner("app").ID(), rec.ID, i)
		names = append(names, types.NamespacedName{Namespace: "shop", Name: name})
	}
	return rec.ID, names
}

// Whoever edits a Secret can edit its annotations, too.
func TestAnEditedRecordIsLostAlthoughItsDigestIsRight(t *testing.T) {
	set := func(secret *unstructured.Unstructured, key, value string) {
		must(unstructured.SetNestedField(secret.Object, base64.StdEncoding.EncodeToString([]byte(value)), "data", key))
	}
	for name, test := range map[string]struct {
		edit func(s *Store, first, second *unstructured.Unstructured)
		want string
	}{
		"nothing": {func(*Store, *unstructured.Unstructured, *unstructured.Unstructured) {}, ""},
		"the content": {func(s *Store, first, _ *unstructured.Unstructured) {
			parts, err := Encode(Rendering, []string{"evil"})
			must(err)
			set(first, Rendering.dataKey(), string(parts[0]))
			annotate(first, s.Marks.name(annotationParts), "1")
		}, "does not match its id"},
		"the number of parts": {func(s *Store, first, _ *unstructured.Unstructured) {
			annotate(first, s.Marks.name(annotationParts), "1")
		}, "does not match its id"},
		"another part": {func(_ *Store, _, second *unstructured.Unstructured) {
			set(second, Rendering.dataKey(), "evil")
		}, "does not match its id"},
		"the header": {func(_ *Store, first, _ *unstructured.Unstructured) {
			set(first, headerKey, `{"inputs":"other"}`)
		}, "does not match its id"},
		"the salt": {func(_ *Store, first, _ *unstructured.Unstructured) {
			set(first, saltKey, strings.Repeat("x", saltBytes))
		}, "does not match its id"},
		"no salt": {func(_ *Store, first, _ *unstructured.Unstructured) {
			unstructured.RemoveNestedField(first.Object, "data", saltKey)
		}, "does not match its id"},
		"annotations": {func(s *Store, first, _ *unstructured.Unstructured) {
			annotate(first, s.Marks.name(annotationOrigin), "other/9///")
			annotate(first, s.Marks.name(annotationValuesLost), "true")
			annotate(first, s.Marks.name(annotationCapabilities), "other")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := newCluster(t)
			id, names := sealed(t, s)
			if len(names) < 2 {
				t.Fatalf("the record has %d Secrets, want several", len(names))
			}
			test.edit(s, c.Secrets[names[0]], c.Secrets[names[1]])
			for _, secret := range names {
				data, _, _ := unstructured.NestedString(c.Secrets[secret].Object, "data", Rendering.dataKey())
				annotate(c.Secrets[secret], s.Marks.name(annotationDigest), digestOf(secret.Name, data))
			}
			var content []string
			rec, err := s.Read(t.Context(), owner("app"), Rendering, id, &content)
			if test.want != "" {
				if !IsLost(err) || !strings.Contains(err.Error(), test.want) || content != nil {
					t.Errorf("got %v, want the error %q", err, test.want)
				}
				return
			}
			if err != nil || rec.Origin.InputDigest != "inputs" || rec.ValuesLost || len(content) != 1 {
				t.Errorf("got %+v and the error %v", rec, err)
			}
		})
	}
}

func annotate(secret *unstructured.Unstructured, name, value string) {
	annotations := secret.GetAnnotations()
	annotations[name] = value
	secret.SetAnnotations(annotations)
}
