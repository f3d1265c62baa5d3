package serverrules

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

func TestCopiesOfDroppedFieldsAreTaken(t *testing.T) {
	of := func(paths ...string) *fieldpath.Set {
		set := fieldpath.NewSet()
		for _, path := range paths {
			set.Insert(fieldpath.MakePathOrDie(names(path)...))
		}
		return set
	}
	const account, deprecated = "spec.template.spec.serviceAccountName", "spec.template.spec.serviceAccount"
	metrics := fieldpath.MakePathOrDie("metadata", "annotations", "autoscaling.alpha.kubernetes.io/metrics")
	for _, c := range []struct {
		name, kind, manifest string
		ours, others, want   *fieldpath.Set
	}{
		{"the copy of a removed account", "Deployment.apps", "spec: {}", of(account), of(), of(account, deprecated)},
		{
			"the name of a removed deprecated account", "StatefulSet.apps", "spec: {}", of(deprecated), of(),
			of(account, deprecated),
		},
		{
			"nothing if the account stays", "Deployment.apps", "spec: {template: {spec: {serviceAccountName: a}}}", of(account),
			of(), of(account),
		},
		{
			"nothing if the copy is set", "Deployment.apps", "spec: {template: {spec: {serviceAccount: a}}}", of(account),
			of(), of(account),
		},
		{"no copy of others", "Deployment.apps", "spec: {}", of(account), of(deprecated), of(account)},
		{"no copy of a field that is not ours", "Deployment.apps", "spec: {}", of(), of(), of()},
		{"nothing of other kinds", "Widget.example.com", "spec: {}", of(account), of(), of(account)},
		{
			"the metrics of an older version", "HorizontalPodAutoscaler.autoscaling", "apiVersion: autoscaling/v1",
			of("spec.metrics", "spec.maxReplicas"), of(), of("spec.maxReplicas").Union(fieldpath.NewSet(metrics)),
		},
		{
			"no metrics of the same version", "HorizontalPodAutoscaler.autoscaling", "apiVersion: autoscaling/v2",
			of("spec.metrics"), of(), of("spec.metrics"),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := TakeCopies(kindOf(t, c.kind), object(t, c.manifest), c.ours, c.others)
			if !got.Equals(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			var fields []string
			for _, field := range Copied(kindOf(t, c.kind)) {
				if !(Branch{Path: fieldpath.MakePathOrDie(names(field)...)}).Below(c.ours).Empty() {
					fields = append(fields, field)
				}
			}
			drops := DropsCopy(kindOf(t, c.kind), object(t, c.manifest), fields)
			if want := !got.Equals(c.ours) || c.others.Has(fieldpath.MakePathOrDie(names(deprecated)...)); drops != want {
				t.Errorf("drops a copy: got %t, want %t", drops, want)
			}
		})
	}
}

func TestDerivedDefaultsAreTakenWhenTheyAreOutdated(t *testing.T) {
	types := fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "policyTypes"))
	for _, c := range []struct {
		name, kind, live, manifest string
		others                     *fieldpath.Set
		outdated, taken            bool
	}{
		{
			"egress is added", "NetworkPolicy.networking.k8s.io", "spec: {policyTypes: [Ingress]}", "spec: {egress: [{}]}",
			nil, true, true,
		},
		{
			"egress is removed", "NetworkPolicy.networking.k8s.io", "spec: {policyTypes: [Ingress, Egress]}",
			"spec: {egress: []}", nil, true, true,
		},
		{
			"egress stays", "NetworkPolicy.networking.k8s.io", "spec: {policyTypes: [Ingress, Egress]}", "spec: {egress: [{}]}",
			nil, false, true,
		},
		{
			"the manifest sets the types", "NetworkPolicy.networking.k8s.io", "spec: {policyTypes: [Ingress]}",
			"spec: {egress: [{}], policyTypes: [Egress]}", nil, false, false,
		},
		{
			"others own the types", "NetworkPolicy.networking.k8s.io", "spec: {policyTypes: [Ingress]}", "spec: {egress: [{}]}",
			types, true, false,
		},
		{"another kind", "Widget.example.com", "spec: {policyTypes: [Ingress]}", "spec: {egress: [{}]}", nil, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind, manifest, others := kindOf(t, c.kind), object(t, c.manifest), fieldpath.NewSet()
			if c.others != nil {
				others = c.others
			}
			var retained []string
			for _, d := range DerivedIn(kind, object(t, c.live)) {
				retained = append(retained, d.Text)
			}
			if got := DropsCopy(kind, manifest, retained); got != c.outdated {
				t.Errorf("outdated: got %t, want %t", got, c.outdated)
			}
			if got := TakeCopies(kind, manifest, fieldpath.NewSet(), others).Equals(types); got != c.taken {
				t.Errorf("taken: got %t, want %t", got, c.taken)
			}
		})
	}
}

func TestADeprecatedAccountIsCompleted(t *testing.T) {
	for manifest, want := range map[string]string{
		"spec: {replicas: 1, template: {spec: {serviceAccount: a}}}": "spec: {replicas: 1, template: {spec: " +
			"{serviceAccount: a, serviceAccountName: a}}}",
		"spec: {template: {spec: {serviceAccountName: b}}}": "spec: {template: {spec: {serviceAccountName: b}}}",
		"spec: {template: {spec: {}}}":                      "spec: {template: {spec: {}}}",
		"spec: {}":                                          "spec: {}",
	} {
		before := object(t, manifest)
		if diff := cmp.Diff(object(t, want), Complete(kindOf(t, "Deployment.apps"), before)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(object(t, manifest), before); diff != "" {
			t.Errorf("the manifest was changed: %s", diff)
		}
	}
}
