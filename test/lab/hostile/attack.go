package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// scene contains what attacks need: the addresses of the servers without and with TLS, and a token for the cluster.
type scene struct{ servers, clusters, token string }

// attack is a hostile component, with the objects that it refers to.
type attack struct {
	seed    uint64
	kind    string
	spec    v1alpha1.ComponentSpec
	objects []client.Object

	*rand.Rand
	scene scene
}

// kinds are the kinds of attacks. The function of a kind fills the spec of an attack.
func kinds() []kind {
	return slices.Concat(templateKinds(), slowTemplateKinds(), chartKinds(), kustomizationKinds(), textKinds(), sourceKinds(),
		clusterKinds())
}

type kind struct {
	name string
	fill func(a *attack)
}

// attackOf returns the attack of a seed. only is the beginning of the names of the used kinds.
func attackOf(seed uint64, only string, s scene) *attack {
	a := &attack{seed: seed, Rand: rand.New(rand.NewPCG(seed, 1)), scene: s}
	var candidates []kind
	for _, k := range kinds() {
		if strings.HasPrefix(k.name, only) {
			candidates = append(candidates, k)
		}
	}
	if len(candidates) == 0 {
		candidates = kinds()
	}
	chosen := candidates[a.IntN(len(candidates))]
	a.kind = chosen.name
	chosen.fill(a)
	a.hurry()
	return a
}

func (a *attack) name() string { return fmt.Sprintf("hostile-%d", a.seed) }

func (a *attack) key() client.ObjectKey {
	return client.ObjectKey{Namespace: hostileNamespace, Name: a.name()}
}

func (a *attack) component() *v1alpha1.Component {
	return &v1alpha1.Component{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Component"},
		ObjectMeta: metav1.ObjectMeta{Namespace: hostileNamespace, Name: a.name()},
		Spec:       a.spec,
	}
}

// hurry sometimes sets intervals that are as short as the API allows.
func (a *attack) hurry() {
	short := func() *metav1.Duration {
		durations := []time.Duration{0, time.Nanosecond, time.Millisecond, time.Second}
		return &metav1.Duration{Duration: durations[a.IntN(len(durations))] / time.Millisecond * time.Millisecond}
	}
	if a.IntN(3) == 0 {
		a.spec.RetryDuration = short()
	}
	if a.IntN(4) == 0 {
		a.spec.Interval = short()
	}
	if a.IntN(4) == 0 {
		a.spec.TimeoutDuration = short()
	}
}

// one returns one of the arguments.
func (a *attack) one(choices ...string) string { return choices[a.IntN(len(choices))] }

// inline returns a source with files.
func inline(files map[string]string) v1alpha1.Source {
	return v1alpha1.Source{Inline: &v1alpha1.InlineSource{Files: files}}
}

// template makes the component render a Go template.
func (a *attack) template(text string) { a.spec.Source = inline(map[string]string{"all.yaml": text}) }

// chart makes the component render a chart. The arguments are names and contents of files, in turn.
func (a *attack) chart(files ...string) {
	source := inline(map[string]string{"Chart.yaml": "{apiVersion: v2, name: a, version: 1.0.0}"})
	for i := 0; i < len(files); i += 2 {
		source.Inline.Files[files[i]] = files[i+1]
	}
	a.spec.Source = source
}

// values sets spec.values to the JSON text of a value.
func (a *attack) values(text string) { a.spec.Values = &runtime.RawExtension{Raw: []byte(text)} }

// meta returns the metadata of another object of the attack.
func (a *attack) meta(suffix string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: hostileNamespace, Name: a.name() + "-" + suffix}
}

// valuesFrom adds a ConfigMap or a Secret with values.
func (a *attack) valuesFrom(text string) {
	name := a.meta("values")
	reference := metav1alpha1.ValuesReference{Kind: metav1alpha1.ConfigMapReference, Name: name.Name}
	var object client.Object = &corev1.ConfigMap{ObjectMeta: name, Data: map[string]string{"values.yaml": text}}
	if a.IntN(2) == 0 {
		reference.Kind = metav1alpha1.SecretReference
		object = &corev1.Secret{ObjectMeta: name, StringData: map[string]string{"values.yaml": text}}
	}
	a.objects = append(a.objects, object)
	a.spec.ValuesFrom = append(a.spec.ValuesFrom, reference)
}

// archive makes the component render an archive in a ConfigMap.
func (a *attack) archive(content []byte) {
	config := &corev1.ConfigMap{ObjectMeta: a.meta("source"), BinaryData: map[string][]byte{"source.tgz": content}}
	a.objects = append(a.objects, config)
	a.spec.Source = v1alpha1.Source{ConfigMap: &v1alpha1.ConfigMapSource{Name: config.Name}}
}

// configMap is a manifest of a ConfigMap with additional metadata, in YAML's flow style.
func configMap(name, metadata, data string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s%s}, data: {%s}}\n---\n", name, metadata, data)
}

// nested returns a text that is nested: heads, a core, and tails.
func nested(head, core, tail string, depth int) string {
	return strings.Repeat(head, depth) + core + strings.Repeat(tail, depth)
}

// quoted returns a text as a JSON string.
func quoted(text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(encoded)
}

// power returns a random number up to 10^most, with each number of digits equally likely.
func (a *attack) power(most int) int {
	number := 1
	for range 1 + a.IntN(most) {
		number *= 10
	}
	return 1 + a.IntN(number)
}
