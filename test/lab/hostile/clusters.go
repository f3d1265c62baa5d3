package main

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// kubeconfig is a kubeconfig of one of the attacker's servers, as JSON.
const kubeconfig = `{"apiVersion":"v1","kind":"Config","current-context":"a","contexts":[{"name":"a","context":{"cluster":"a",` +
	`"user":"a"}}],"clusters":[{"name":"a","cluster":{"insecure-skip-tls-verify":true,"server":%q%s}}],` +
	`"users":[{"name":"a","user":{"token":%q%s}}]}`

// kubeConfig lets the component use a kubeconfig.
func (a *attack) kubeConfig(text string) {
	secret := &corev1.Secret{ObjectMeta: a.meta("kubeconfig"), Data: map[string][]byte{"value": []byte(text)}}
	a.objects = append(a.objects, secret)
	a.spec.Target = &metav1alpha1.KubeConfigSource{SecretRef: metav1alpha1.KubeConfigKey{Name: secret.Name}}
}

// clusterKinds are target clusters, and components that strain the cluster.
func clusterKinds() []kind {
	return []kind{
		{"kubeconfig server", func(a *attack) {
			a.template(configMap("a", "", "b: c"))
			a.kubeConfig(fmt.Sprintf(kubeconfig, a.scene.clusters+"/"+a.one(behaviours...), "", a.scene.token, ""))
		}},
		{"kubeconfig text", func(a *attack) {
			a.template(configMap("a", "", "b: c"))
			server := a.scene.clusters + "/list"
			a.kubeConfig(a.one(
				a.yamlBomb(), a.jsonBomb(),
				fmt.Sprintf(kubeconfig, server, `,"certificate-authority":"/etc/passwd"`, "", ""),
				fmt.Sprintf(kubeconfig, server, `,"proxy-url":"http://127.0.0.1:1"`, "", ""),
				fmt.Sprintf(kubeconfig, server, "", "", `,"exec":{"command":"/bin/sh","apiVersion":"client.authentication.k8s.io/v1"}`),
				fmt.Sprintf(kubeconfig, server, "", "", `,"tokenFile":"/proc/self/environ"`),
				fmt.Sprintf(kubeconfig, server, `,"extensions":[`+strings.Repeat(`{"name":"a","extension":{}},`, 20_000)+`{}]`, "", ""),
				fmt.Sprintf(kubeconfig, "https://127.0.0.1:1", "", strings.Repeat("a", 500_000), ""),
			))
		}},
		{"components", func(a *attack) {
			below := &v1alpha1.Component{}
			below.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Component"))
			below.Name = a.name()
			below.Spec.Source = inline(map[string]string{"a.yaml": configMap("a", "", "b: c")})
			for level := range 1 + a.IntN(3) {
				text, err := yaml.Marshal(below)
				if err != nil {
					return
				}
				below = below.DeepCopy()
				below.Name = fmt.Sprintf("%s-%d", a.name(), level)
				below.Spec.Source = inline(map[string]string{"a.yaml": strings.ReplaceAll(string(text), "{{", "{{ `{{` }}")})
			}
			a.spec = below.Spec
		}},
		{"dependents", func(a *attack) {
			count := 100 + a.IntN(1500)
			a.template(fmt.Sprintf("{{ range $i := until %d }}%s{{ end }}", count,
				configMap(a.name()+"-{{ $i }}", a.one("", ", annotations: {fairlead.io/order: '{{ $i }}'}"), "b: c")))
		}},
		{"reapply", func(a *attack) {
			a.template(fmt.Sprintf("{{ range $i := until 20 }}%s{{ end }}", configMap(a.name()+"-{{ $i }}",
				", annotations: {fairlead.io/reapply-interval: "+a.one("1ns", "1ms", "1s")+"}", "b: c")))
		}},
		{"targets", func(a *attack) {
			a.template(configMap("a", "", "b: c"))
			a.spec.TargetNamespace = a.one(goodNamespace, "kube-system", "fairlead-system", "missing", strings.Repeat("a", 63))
			a.spec.TargetName = a.one("", "a", strings.Repeat("a", 253))
			a.spec.ServiceAccount = a.one("", "missing", "default", strings.Repeat("a", 253))
		}},
		{"managed types", func(a *attack) {
			a.template(configMap("a", "", "b: c"))
			for i := range 1 + a.IntN(64) {
				a.spec.ManagedTypes = append(a.spec.ManagedTypes, metav1alpha1.TypePattern{
					Group: a.one("*", "*.io", "apps", fmt.Sprintf("a%d.example.com", i)), Kind: a.one("*", "ConfigMap", "A"),
				})
			}
		}},
		{"records", func(a *attack) {
			a.template(configMap("a", ", annotations: {fairlead.io/phase: 'pre-delete,apply'}", "b: "+strings.Repeat("c", a.power(5))) +
				configMap("d", "", "e: {{ randAlphaNum 20 }}"))
			bomb := bombs[a.IntN(len(bombs))].content()
			name := a.one("phases-", "rendered-", "inventory-") + strings.Repeat(a.one("0", "a"), 40) + "-x-0"
			secret := &corev1.Secret{ObjectMeta: a.meta("x"), Data: map[string][]byte{"manifests.json.gz": bomb, "inventory.json.gz": bomb}}
			secret.Name = fmt.Sprintf("%s%d", name, a.seed)
			a.objects = append(a.objects, secret)
		}},
	}
}
