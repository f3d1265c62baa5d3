package records

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestWhichRecordOfPhasesCounts(t *testing.T) {
	_, s := newCluster(t)
	// The times differ by nanoseconds. The creation timestamps of the API server would be equal.
	at := func(nanoseconds int) string { return time.Unix(1000, int64(nanoseconds)).UTC().Format(timeFormat) }
	part := func(digest string, number int, parts, written string) metav1.PartialObjectMetadata {
		var secret metav1.PartialObjectMetadata
		secret.SetName(secretName(Phases, "owner", digest, number))
		secret.SetAnnotations(map[string]string{
			s.Marks.name(annotationParts): parts, s.Marks.name(annotationWritten): written,
		})
		return secret
	}
	previous, latter := part("b", 0, "1", at(9)), part("a", 0, "1", at(10))
	for _, c := range []struct {
		name  string
		found []metav1.PartialObjectMetadata
		named string
		want  string
	}{
		{"no record if none exists", nil, "a", ""},
		{"the record that was written last", []metav1.PartialObjectMetadata{previous, latter}, "", "a"},
		{
			"the record that was written last, in any order of the list",
			[]metav1.PartialObjectMetadata{latter, previous},
			"", "a",
		},
		{
			"the record that the status names, although another record was written later",
			[]metav1.PartialObjectMetadata{previous, latter},
			"b", "b",
		},
		{
			"another record if the record that the status names does not exist",
			[]metav1.PartialObjectMetadata{previous},
			"a", "b",
		},
		{
			"another record if a part of the named record is missing",
			[]metav1.PartialObjectMetadata{previous, part("a", 1, "2", at(10))},
			"a", "b",
		},
		{
			"a record of several parts",
			[]metav1.PartialObjectMetadata{previous, part("a", 0, "2", at(10)), part("a", 1, "2", at(10))},
			"", "a",
		},
		{
			"always the same record if the times are missing",
			[]metav1.PartialObjectMetadata{part("b", 0, "1", ""), part("a", 0, "1", "")},
			"", "a",
		},
		{"no record without the number of its parts", []metav1.PartialObjectMetadata{part("a", 0, "", at(1))}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := s.Marks.Latest(c.found, c.named); got != c.want {
				t.Errorf("the latest record is %q, want %q", got, c.want)
			}
		})
	}
}

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	c, s := newCluster(t)
	origin := Origin{InputDigest: "inputs", Revision: 7, TargetCluster: "there", TargetNamespace: "ns", TargetName: "n"}
	noise := make([]byte, 2*maxPart)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	content := []string{"first", base64.StdEncoding.EncodeToString(noise)}
	parts, err := Encode(Rendering, content)
	if err != nil || len(parts) < 2 {
		t.Fatalf("the record has %d parts, with the error %v; want several parts", len(parts), err)
	}
	written := Record{
		Kind: Rendering, ID: "one", Note: "a note", ValuesLost: true, Origin: &origin,
		Capabilities: `{"digest":"d"}`,
	}
	if err := s.Write(t.Context(), owner("app"), written, parts); err != nil {
		t.Fatal(err)
	}
	if names := c.Names("shop"); len(names) != len(parts) {
		t.Errorf("the record is in the Secrets %q, want one Secret for each part", names)
	}
	var read []string
	rec, err := s.Read(t.Context(), owner("app"), Rendering, "one", &read)
	if err != nil || !slices.Equal(read, content) {
		t.Fatalf("the record has %d lines, with the error %v", len(read), err)
	}
	var status metav1alpha1.Status
	rec.Origin.Restore(&status)
	if *OriginOf(&status) != origin {
		t.Errorf("the status has the origin %v", rec.Origin)
	}
	rec.Origin = written.Origin
	if rec != written {
		t.Errorf("the record is %+v, want the written record", rec)
	}
	if err := s.Write(t.Context(), owner("elsewhere"), written, parts); err == nil {
		t.Error("a record is written for a component of another cluster")
	}
}

func TestARecordIsLost(t *testing.T) {
	for name, damage := range map[string]func(c *cluster, name types.NamespacedName){
		"without its Secret": func(c *cluster, name types.NamespacedName) { delete(c.Secrets, name) },
		"with data that is not base64": func(c *cluster, name types.NamespacedName) {
			must(unstructured.SetNestedField(c.Secrets[name].Object, "%", "data", Inventory.dataKey()))
		},
		"with data that is not compressed": func(c *cluster, name types.NamespacedName) {
			must(unstructured.SetNestedField(c.Secrets[name].Object, "YQ==", "data", Inventory.dataKey()))
		},
		"with other content": func(c *cluster, name types.NamespacedName) {
			parts, err := Encode(Inventory, "text")
			must(err)
			text := base64.StdEncoding.EncodeToString(parts[0])
			must(unstructured.SetNestedField(c.Secrets[name].Object, text, "data", Inventory.dataKey()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := newCluster(t)
			prefix := NamePrefix(Inventory, owner("app").ID(), "one")
			secret := types.NamespacedName{Namespace: "shop", Name: write(t, s, owner("app"), Inventory, "one")}
			from := metav1alpha1.InventoryRecord{Namespace: "shop", Name: prefix, Parts: 1}
			if lines, err := ReadInventory(t.Context(), s.Get, from); err != nil || len(lines) != 2 {
				t.Fatalf("the inventory has the lines %q, with the error %v; want 2 lines", lines, err)
			}
			damage(c, secret)
			if _, err := ReadInventory(t.Context(), s.Get, from); !IsLost(err) {
				t.Errorf("reading the inventory from a damaged Secret returned %v", err)
			}
			var lines []string
			if _, err := s.Read(t.Context(), owner("app"), Inventory, "one", &lines); !IsLost(err) {
				t.Errorf("reading the record from a damaged Secret returned %v", err)
			}
		})
	}
	c, s := newCluster(t)
	one := types.NamespacedName{Namespace: "shop", Name: write(t, s, owner("app"), Phases, "one")}
	two := types.NamespacedName{Namespace: "shop", Name: write(t, s, owner("web"), Phases, "one")}
	c.Secrets[one].Object["data"] = c.Secrets[two].DeepCopy().Object["data"]
	var lines []string
	if _, err := s.Read(t.Context(), owner("app"), Phases, "one", &lines); err != nil {
		t.Errorf("reading a Secret with equal content returned %v", err)
	}
	other, err := Encode(Phases, []string{"other"})
	must(err)
	c.Secrets[one].Object["data"] = map[string]any{Phases.dataKey(): base64.StdEncoding.EncodeToString(other[0])}
	if _, err := s.Read(t.Context(), owner("app"), Phases, "one", &lines); !IsLost(err) {
		t.Errorf("reading a Secret with the content of another one returned %v", err)
	}
	c.Refuse = func(string, string) error { return errors.New("reset") }
	if _, err := s.Read(t.Context(), owner("app"), Inventory, "one", &lines); err == nil || IsLost(err) {
		t.Errorf("reading the Secrets with a failed request returned %v", err)
	}
}

func TestTheLatestInventoryIsRead(t *testing.T) {
	c, s := newCluster(t)
	if lines, err := s.ReadLatestInventory(t.Context(), owner("app"), nil); lines != nil || err != nil {
		t.Errorf("without Secrets, ReadLatestInventory returned the lines %q and the error %v", lines, err)
	}
	write(t, s, owner("app"), Inventory, "former")
	c.clock.SetTime(start.Add(time.Second))
	latest := write(t, s, owner("app"), Inventory, "latest")
	delete(c.Secrets[types.NamespacedName{Namespace: "shop", Name: latest}].Object, "data")
	secrets, err := s.ListKind(t.Context(), owner("app"), Inventory)
	if err != nil || len(secrets) != 2 {
		t.Fatalf("ListKind returned %d Secrets and the error %v, want 2 Secrets", len(secrets), err)
	}
	if _, err := s.ReadLatestInventory(t.Context(), owner("app"), secrets); !IsLost(err) {
		t.Errorf("reading a damaged latest inventory returned %v", err)
	}
	previous := slices.DeleteFunc(secrets, HasID("latest"))
	if lines, err := s.ReadLatestInventory(t.Context(), owner("app"), previous); err != nil || len(lines) != 2 {
		t.Errorf("the latest inventory has the lines %q, with the error %v; want 2 lines", lines, err)
	}
}

func TestWhereRecordsAre(t *testing.T) {
	_, s := newCluster(t)
	if got := s.NamespaceOf(owner("app")); got != "shop" {
		t.Errorf("the records of a namespaced component are in namespace %q, want shop", got)
	}
	if got := s.NamespaceOf(manifests.Owner{Name: "app"}); got != "operator" {
		t.Errorf("the records of a cluster-scoped component are in namespace %q, want operator", got)
	}
}

func TestFailedRequestsForRecordsBecomeConditions(t *testing.T) {
	if got := passerror.Of(Problem("read the record", errors.New("reset"))); got.Terminal ||
		got.Message != "read the record: reset" {
		t.Errorf("a failed request must be a retried error, got %+v", got)
	}
	denied := errors.New(`User "op" cannot list resource "secrets"`)
	refused := apierrors.NewForbidden(secretResource.GroupResource(), "", denied)
	if got := passerror.Of(Problem("read the record", refused)); !got.Terminal {
		t.Logf("%v", refused)
		t.Errorf("got %+v", got)
	}
}

func TestNoSecretThatIsWrittenIsLarge(t *testing.T) {
	name := strings.Repeat("n", 253)
	owner := manifests.Owner{
		Cluster: name, Reconciler: name, Group: name, Kind: name[:63], Namespace: name[:63],
		Name: name,
	}
	s := NewStore(Options{Reconciler: name})
	noise := make([]byte, 2*maxPart)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	parts, err := Encode(Phases, base64.StdEncoding.EncodeToString(noise))
	if err != nil || len(parts) < 2 {
		t.Fatalf("the record has %d parts, with the error %v; want several parts", len(parts), err)
	}
	origin := &Origin{name, 1 << 40, name, name, name}
	rec := Record{Kind: Rendering, ID: name[:16], Note: strings.Repeat(name+", ", 20), Origin: origin}
	text, err := json.Marshal(s.secret(owner, rec, 0, s.Marks.annotations(owner, rec, len(parts), timeFormat), parts[0]))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(text))
	if len(text) > 512<<10-8<<10 {
		t.Errorf("the Secret has %d bytes, which is more than 504 KiB", len(text))
	}
}

func TestWhoWroteTheDataOfInventories(t *testing.T) {
	data := func(manager, key string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:` + key + `":{}}}`)}
	}
	for name, test := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    bool
	}{
		"the reconciler": {[]metav1.ManagedFieldsEntry{data(reconciler, "inventory.json.gz")}, true},
		"the reconciler, with other labels": {[]metav1.ManagedFieldsEntry{
			{Manager: "kubectl"},
			data(reconciler, "inventory.json.gz"),
		}, true},
		"another client": {[]metav1.ManagedFieldsEntry{
			data(reconciler, "other"),
			data("kubectl", "inventory.json.gz"),
		}, false},
		"unknown after a restore": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			store := NewStore(Options{Reconciler: reconciler})
			secrets := []metav1.PartialObjectMetadata{{}, {ObjectMeta: metav1.ObjectMeta{ManagedFields: test.entries}}}
			if got := store.Marks.WroteInventories(secrets); got != test.want {
				t.Errorf("WroteInventories returned %t", got)
			}
		})
	}
}

func TestPartsOfARecordWithoutTheirLabelAreFoundByTheirNames(t *testing.T) {
	g := NewWithT(t)
	c, s := newCluster(t)
	noise := make([]byte, 2*maxPart)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	parts, err := Encode(Phases, base64.StdEncoding.EncodeToString(noise))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Write(t.Context(), owner("app"), Record{Kind: Phases, ID: "one"}, parts)).To(Succeed())
	g.Expect(len(parts)).To(BeNumerically(">", 2))
	find := func(ids ...string) []string {
		t.Helper()
		c.Requests = nil
		found, err := s.Find(t.Context(), owner("app"), Phases, ids...)
		g.Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, secret := range found {
			names = append(names, secret.Name)
		}
		return names
	}
	all := c.Names("shop")
	g.Expect(find("one", PhasesPending)).To(ConsistOf(all))
	g.Expect(c.Requests).To(HaveLen(1), "want only the list")
	for _, name := range all[1:] {
		c.Secrets[types.NamespacedName{Namespace: "shop", Name: name}].SetLabels(nil)
	}
	g.Expect(find()).To(ConsistOf(all[0]))
	g.Expect(find("one")).To(ConsistOf(all))
	for _, secret := range c.Secrets {
		secret.SetLabels(nil)
	}
	g.Expect(find("one")).To(ConsistOf(all))
	for _, secret := range c.Secrets {
		secret.SetAnnotations(nil)
	}
	g.Expect(find("one")).To(ConsistOf(all), "want the managed fields to show that the reconciler wrote them")
	for _, secret := range c.Secrets {
		secret.SetManagedFields(nil)
	}
	g.Expect(find("one")).To(BeEmpty(), "nothing shows that the reconciler wrote them")
}
