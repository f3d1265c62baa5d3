package serverrules

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func kindOf(t *testing.T, text string) schema.GroupKind {
	t.Helper()
	return schema.ParseGroupKind(text)
}

func TestAManifestExcludesFields(t *testing.T) {
	const container = "spec: {template: {spec: {containers: [{name: b}, {name: a, "
	for _, c := range []struct {
		name, kind, manifest, live string
		want                       []string
	}{
		{
			"the parameters of another strategy", "Deployment.apps", "spec: {strategy: {type: Recreate}}",
			"spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}",
			[]string{"/spec/strategy/rollingUpdate"},
		},
		{
			"not the parameters of the same strategy", "Deployment.apps", "spec: {strategy: {type: RollingUpdate}}",
			"spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}", nil,
		},
		{
			"nothing without a discriminator", "Deployment.apps", "spec: {replicas: 1}",
			"spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}", nil,
		},
		{
			"nothing by an empty discriminator", "Deployment.apps", "spec: {strategy: {type: ''}}",
			"spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}", nil,
		},
		{
			"nothing that it sets itself", "Deployment.apps", "spec: {strategy: {type: Recreate, rollingUpdate: {maxSurge: 2}}}",
			"spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}", nil,
		},
		{
			"the parameters of another strategy of a StatefulSet", "StatefulSet.apps",
			"spec: {updateStrategy: {type: OnDelete}}",
			"spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}}",
			[]string{"/spec/updateStrategy/rollingUpdate"},
		},
		{
			"a conversion webhook", "CustomResourceDefinition.apiextensions.k8s.io", "spec: {conversion: {strategy: None}}",
			"spec: {conversion: {strategy: Webhook, webhook: {}}}",
			[]string{"/spec/conversion/webhook"},
		},
		{
			"the source of a volume by its name", "Deployment.apps",
			"spec: {template: {spec: {volumes: [{name: v, secret: {}}]}}}",
			"spec: {template: {spec: {volumes: [{name: u, emptyDir: {}}, {name: v, emptyDir: {}}]}}}",
			[]string{"/spec/template/spec/volumes/1/emptyDir"},
		},
		{
			"no source of a volume that the object does not have", "Deployment.apps",
			"spec: {template: {spec: {volumes: [{name: v, secret: {}}]}}}",
			"spec: {template: {spec: {volumes: [{name: u, emptyDir: {}}]}}}", nil,
		},
		{
			"the source of a volume in a CronJob", "CronJob.batch",
			"spec: {jobTemplate: {spec: {template: {spec: {volumes: [{name: v, secret: {}}]}}}}}",
			"spec: {jobTemplate: {spec: {template: {spec: {volumes: [{name: v, emptyDir: {}}]}}}}}",
			[]string{"/spec/jobTemplate/spec/template/spec/volumes/0/emptyDir"},
		},
		{
			"the value of a variable", "DaemonSet.apps", container + "env: [{name: E, valueFrom: {}}]}]}}}",
			container + "env: [{name: E, value: x}]}]}}}",
			[]string{"/spec/template/spec/containers/1/env/0/value"},
		},
		{
			"the source of a value", "ReplicaSet.apps", container + "env: [{name: E, valueFrom: {fieldRef: {}}}]}]}}}",
			container + "env: [{name: E, valueFrom: {secretKeyRef: {}}}]}]}}}",
			[]string{"/spec/template/spec/containers/1/env/0/valueFrom/secretKeyRef"},
		},
		{
			"the handler of a probe", "Deployment.apps", container + "livenessProbe: {exec: {}}}]}}}",
			container + "livenessProbe: {httpGet: {}, periodSeconds: 1}}]}}}",
			[]string{"/spec/template/spec/containers/1/livenessProbe/httpGet"},
		},
		{
			"the handler of a hook", "Deployment.apps", container + "lifecycle: {preStop: {sleep: {}}}}]}}}",
			container + "lifecycle: {preStop: {exec: {}}}}]}}}",
			[]string{"/spec/template/spec/containers/1/lifecycle/preStop/exec"},
		},
		{
			"a profile of the node", "Deployment.apps",
			container + "securityContext: {seccompProfile: {type: RuntimeDefault}}}]}}}",
			container + "securityContext: {seccompProfile: {type: Localhost, localhostProfile: p}}}]}}}",
			[]string{"/spec/template/spec/containers/1/securityContext/seccompProfile/localhostProfile"},
		},
		{
			"the service of a webhook", "ValidatingWebhookConfiguration.admissionregistration.k8s.io",
			"webhooks: [{name: w, clientConfig: {url: u}}]", "webhooks: [{name: w, clientConfig: {service: {}, caBundle: x}}]",
			[]string{"/webhooks/0/clientConfig/service"},
		},
		{
			"the other bound of a budget", "PodDisruptionBudget.policy", "spec: {maxUnavailable: 1}", "spec: {minAvailable: 1}",
			[]string{"/spec/minAvailable"},
		},
		{
			"the fields of a load balancer", "Service", "spec: {type: ClusterIP}",
			"spec: {type: LoadBalancer, loadBalancerSourceRanges: [a], loadBalancerClass: b, clusterIP: c}",
			[]string{"/spec/loadBalancerClass", "/spec/loadBalancerSourceRanges"},
		},
		{
			"the certificates of an unverified API", "APIService.apiregistration.k8s.io", "spec: {insecureSkipTLSVerify: true}",
			"spec: {caBundle: x}",
			[]string{"/spec/caBundle"},
		},
		{
			"not the certificates of a verified API", "APIService.apiregistration.k8s.io",
			"spec: {insecureSkipTLSVerify: false}",
			"spec: {caBundle: x}", nil,
		},
		{
			"nothing of other kinds", "Widget.example.com", "spec: {strategy: {type: Recreate}}",
			"spec: {strategy: {rollingUpdate: {}}}", nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			live := object(t, c.live)
			var got []string
			for _, b := range Excluded(kindOf(t, c.kind), object(t, c.manifest), live) {
				got = append(got, b.Pointer)
				b.Drop(live)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if left := Excluded(kindOf(t, c.kind), object(t, c.manifest), live); left != nil {
				t.Errorf("the live object still has %v", left)
			}
		})
	}
}

func TestARefusalMayConcernAOneOf(t *testing.T) {
	manifest := "spec: {strategy: {type: Recreate}, template: {spec: {volumes: [{name: v, secret: {}}]}}}"
	for field, want := range map[string]bool{
		"spec.strategy.rollingUpdate": true,
		"spec":                        true,
		"":                            true,
		"spec.template.spec.volumes[3].configMap": true,
		"spec.replicas":                               false,
		"spec.strategyOfOthers":                       false,
		"spec.template.spec.containers[0].image":      false,
		"spec.template.spec.containers[0].env[0].val": false,
	} {
		if got := MayConcern(kindOf(t, "Deployment.apps"), object(t, manifest), []string{field}); got != want {
			t.Errorf("%q: got %t", field, got)
		}
	}
	if MayConcern(kindOf(t, "Deployment.apps"), object(t, "spec: {replicas: 1}"), []string{"spec"}) {
		t.Error("a manifest without a discriminator concerns no one-of")
	}
}

func TestFieldsOfABranch(t *testing.T) {
	of := func(paths ...string) *fieldpath.Set {
		set := fieldpath.NewSet()
		for _, path := range paths {
			set.Insert(fieldpath.MakePathOrDie(names(path)...))
		}
		return set
	}
	webhook := Excluded(kindOf(t, "CustomResourceDefinition.apiextensions.k8s.io"),
		object(t, "spec: {conversion: {strategy: None}}"), object(t, "spec: {conversion: {webhook: {}}}"))[0]
	all := of("spec.conversion.webhook.clientConfig.caBundle", "spec.conversion.webhookOther", "spec.group")
	if got := webhook.Below(all); !got.Equals(of("spec.conversion.webhook.clientConfig.caBundle")) {
		t.Errorf("below the branch: got %v", got)
	}
	for path, want := range map[string]bool{
		"spec.conversion.webhook.clientConfig.caBundle": true,
		"spec.conversion.webhook.clientConfig":          true,
		"spec.conversion.webhook.clientConfig.service":  false,
	} {
		if got := webhook.Injectable(of(path)); got != want {
			t.Errorf("%s: injectable %t", path, got)
		}
	}
}
