package serverrules

import (
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/jsontype"
)

// podTemplates are the paths of the pod templates in kinds whose templates can change.
var podTemplates = map[schema.GroupKind]string{
	{Kind: "PodTemplate"}:                "template",
	{Kind: "ReplicationController"}:      "spec.template",
	{Group: "apps", Kind: "DaemonSet"}:   "spec.template",
	{Group: "apps", Kind: "Deployment"}:  "spec.template",
	{Group: "apps", Kind: "ReplicaSet"}:  "spec.template",
	{Group: "apps", Kind: "StatefulSet"}: "spec.template",
	{Group: "batch", Kind: "CronJob"}:    "spec.jobTemplate.spec.template",
}

// ofKinds are the one-ofs of kinds, besides those of their pod templates. Not listed are one-ofs in lists that are
// replaced as a whole, such as the metrics of autoscalers and the peers of network policies, and those in fields that
// cannot change, such as the source of a PersistentVolume and the template of a Job. A DaemonSet may have parameters of
// another strategy.
var ofKinds = map[schema.GroupKind][]oneOf{
	{Group: "apps", Kind: "Deployment"}:  {rollingUpdate("spec.strategy")},
	{Group: "apps", Kind: "StatefulSet"}: {rollingUpdate("spec.updateStrategy")},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: {
		{at: "spec.conversion", by: "strategy", branches: []branch{
			{field: "webhook", values: []string{"Webhook"}, injectable: []string{"clientConfig.caBundle"}},
		}},
		oneOfFields("spec.conversion.webhook.clientConfig", "service", "url"),
	},
	{Group: "apiregistration.k8s.io", Kind: "APIService"}: {
		// An unverified connection is less than what somebody asked for by a certificate, so a person decides.
		{at: "spec", by: "insecureSkipTLSVerify", branches: []branch{
			{field: "caBundle", values: []string{"false"}, kept: true},
		}},
	},
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}: {
		oneOfFields("webhooks[].clientConfig", "service", "url"),
	},
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}: {
		oneOfFields("webhooks[].clientConfig", "service", "url"),
	},
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}: {
		oneOfFields("spec.paramRef", "name", "selector"),
	},
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"}: {
		oneOfFields("spec.paramRef", "name", "selector"),
	},
	{Group: "flowcontrol.apiserver.k8s.io", Kind: "PriorityLevelConfiguration"}: {
		{at: "spec.limited.limitResponse", by: "type", branches: []branch{{field: "queuing", values: []string{"Queue"}}}},
	},
	{Group: "networking.k8s.io", Kind: "Ingress"}: {
		oneOfFields("spec.defaultBackend", fieldsOf(networkingv1.IngressBackend{})...),
		oneOfFields("spec.defaultBackend.service.port", fieldsOf(networkingv1.ServiceBackendPort{})...),
	},
	{Group: "networking.k8s.io", Kind: "IngressClass"}: {
		{at: "spec.parameters", by: "scope", branches: []branch{{field: "namespace", values: []string{"Namespace"}}}},
	},
	{Group: "policy", Kind: "PodDisruptionBudget"}: {oneOfFields("spec", "maxUnavailable", "minAvailable")},
	{Kind: "Service"}: {
		{at: "spec", by: "type", branches: []branch{
			{field: "loadBalancerClass", values: []string{"LoadBalancer"}},
			{field: "loadBalancerSourceRanges", values: []string{"LoadBalancer"}},
		}},
	},
}

// oneOfs returns the one-ofs of a kind, those of its pod template last.
func oneOfs(kind schema.GroupKind) []oneOf {
	rules := ofKinds[kind]
	if template := podTemplates[kind]; template != "" {
		rules = append(slices.Clip(rules), ofPods(template+".spec")...)
	}
	return rules
}

// ofPods returns the one-ofs of a pod whose spec is at a path.
func ofPods(spec string) []oneOf {
	rules := []oneOf{
		oneOfFields(spec+".volumes[]", fieldsOf(corev1.VolumeSource{})...),
		oneOfFields(spec+".resourceClaims[]", "resourceClaimName", "resourceClaimTemplateName"),
	}
	rules = append(rules, profiles(spec+".securityContext")...)
	for _, list := range []string{".containers[]", ".initContainers[]"} {
		at := spec + list
		rules = append(
			rules,
			oneOfFields(at+".env[]", "value", "valueFrom"),
			oneOfFields(at+".env[].valueFrom", fieldsOf(corev1.EnvVarSource{})...),
		)
		for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
			rules = append(rules, oneOfFields(at+"."+probe, fieldsOf(corev1.ProbeHandler{})...))
		}
		for _, hook := range []string{"postStart", "preStop"} {
			rules = append(rules, oneOfFields(at+".lifecycle."+hook, fieldsOf(corev1.LifecycleHandler{})...))
		}
		rules = append(rules, profiles(at+".securityContext")...)
	}
	return rules
}

// profiles returns the one-ofs of a security context at a path.
func profiles(at string) []oneOf {
	local := []branch{{field: "localhostProfile", values: []string{"Localhost"}}}
	return []oneOf{
		{at: at + ".seccompProfile", by: "type", branches: local},
		{at: at + ".appArmorProfile", by: "type", branches: local},
	}
}

func rollingUpdate(at string) oneOf {
	return oneOf{at: at, by: "type", branches: []branch{{field: "rollingUpdate", values: []string{"RollingUpdate"}}}}
}

// oneOfFields returns a one-of without discriminator.
func oneOfFields(at string, fields ...string) oneOf {
	rule := oneOf{at: at}
	for _, field := range fields {
		rule.branches = append(rule.branches, branch{field: field})
	}
	return rule
}

// fieldsOf returns the names of the fields of an API type.
func fieldsOf(of any) []string {
	return slices.Sorted(maps.Keys(jsontype.Fields(reflect.TypeOf(of))))
}
