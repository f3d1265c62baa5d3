package generator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const reconciler = "shop.example.com"

func ExampleSettings() {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	generator.Settings{Order: 1, DeletePolicy: metav1alpha1.DeleteOrphan}.Annotate(object, "shop.example.com")
	fmt.Println(object.Annotations)
	// Output: map[shop.example.com/delete-policy:orphan shop.example.com/order:1]
}

func TestEachSettingHasAField(t *testing.T) {
	every := generator.Settings{
		Order: 1, PurgeOrder: new(3), DeleteOrder: new(0), PurgeFailed: true,
		Phase: manifests.PhasePreDelete, PhaseOrder: new(2), Timeout: time.Minute, ReapplyInterval: new(time.Duration(0)),
		ReconcilePolicy: metav1alpha1.ReconcileOnce, UpdatePolicy: metav1alpha1.UpdateReplace,
		AdoptionPolicy: metav1alpha1.AdoptAlways, DeletePolicy: metav1alpha1.DeleteOrphan,
		PrunePolicy: metav1alpha1.PruneAtOnce, DependsOn: []string{"ConfigMap a", "@b"}, DependsOnGroup: "c",
		DependsOnTimeout: time.Hour, IncludeWhen: "true", ActiveWhen: "false", ReadyWhen: "self.a", GoneWhen: "self.b",
		StatusHints: []string{"has-ready-condition"}, Ignore: []string{"spec.a", "spec.b"},
		Exports: map[string]string{"b": "self.y", "a": "self.x"}, Bind: true, ExternalID: "id-1",
	}
	object := &metav1.ObjectMeta{Annotations: map[string]string{"other": "stays"}}
	every.Annotate(object, reconciler)
	want := map[string]string{
		"order": "1", "purge-order": "3", "delete-order": "0", "purge-failed": "true", "phase": "pre-delete",
		"phase-order": "2", "timeout": "1m0s", "reapply-interval": "0s", "reconcile-policy": "once",
		"update-policy": "replace", "adoption-policy": "always", "delete-policy": "orphan", "prune-policy": "at-once",
		"depends-on": "ConfigMap a,@b", "depends-on-group": "c", "depends-on-timeout": "1h0m0s", "include-when": "true",
		"active-when": "false", "ready-when": "self.a", "gone-when": "self.b", "status-hint": "has-ready-condition",
		"ignore": "spec.a,spec.b", "export": "a=self.x\nb=self.y", "bind": "true", "external-id": "id-1",
	}
	got := map[string]string{}
	for key, value := range object.Annotations {
		if name, ours := strings.CutPrefix(key, reconciler+"/"); ours {
			got[name] = value
		}
	}
	if difference := cmp.Diff(want, got); difference != "" || object.Annotations["other"] != "stays" {
		t.Errorf("(-want +got):\n%s", difference)
	}
	for _, name := range settingtext.Names() {
		if got[name] == "" && name != manifests.AnnotationApplyOrder { // It is an alias of the order.
			t.Errorf("no field sets %s", name)
		}
	}
}

func TestTheReconcilerReadsWhatAnnotateWrites(t *testing.T) {
	object := &metav1.ObjectMeta{}
	generator.Settings{
		Order: -2, DeleteOrder: new(7), Timeout: time.Minute, UpdatePolicy: metav1alpha1.UpdateRecreate,
		PrunePolicy: metav1alpha1.PruneAtOnce, Exports: map[string]string{"a": "self.x", "b": "self.y"},
	}.Annotate(object, reconciler)
	got, err := settingtext.Parse(reconciler, object.Annotations)
	if err != nil {
		t.Fatal(err)
	}
	if got.Order != -2 || *got.DeleteOrder != 7 || got.Timeout != time.Minute ||
		got.UpdatePolicy != metav1alpha1.UpdateRecreate || got.PrunePolicy() != metav1alpha1.PruneAtOnce {
		t.Errorf("got the settings %+v", got)
	}
	if names := got.Exports(); len(names) != 2 || !slices.IsSortedFunc(names, func(a, b manifests.Export) int {
		return strings.Compare(a.Name, b.Name)
	}) {
		t.Errorf("got the exports %+v", names)
	}
}

func TestSettingsThatAreNotSetWriteNothing(t *testing.T) {
	object := &metav1.ObjectMeta{}
	generator.Settings{}.Annotate(object, reconciler)
	if object.Annotations != nil {
		t.Errorf("got %v", object.Annotations)
	}
	shared := map[string]string{"a": "b"}
	object.Annotations = shared
	generator.Settings{Bind: true}.Annotate(object, reconciler)
	if len(shared) != 1 {
		t.Errorf("Annotate changed a map that others may share: %v", shared)
	}
}
