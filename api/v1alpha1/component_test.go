package v1alpha1_test

import (
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

func component(spec v1alpha1.ComponentSpec) *v1alpha1.Component {
	return &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "shop"}, Spec: spec}
}

var _ = Describe("A Component", func() {
	It("has defaults for an empty spec", func() {
		c := component(v1alpha1.ComponentSpec{})
		namespace, name := c.Placement()
		Expect([]string{namespace, name}).To(Equal([]string{"apps", "shop"}))
		Expect([]time.Duration{c.Spec.ResyncInterval(), c.Spec.RetryInterval(), c.Spec.Timeout()}).To(
			HaveEach(metav1alpha1.UnsetInterval), "the options of the operator have the defaults")
		Expect(c.Spec.Suspended()).To(BeFalse())
		Expect(c.References()).To(BeEmpty())
		Expect(c.GetParameters()).To(BeEmpty())
		Expect(c.Validate()).To(Succeed())
		Expect(c.Spec.Policies()).To(BeZero())
		Expect(c.Spec.AllowEmpty()).To(BeFalse())
	})

	It("returns the settings of the spec", func() {
		c := component(v1alpha1.ComponentSpec{
			PlacementSpec: metav1alpha1.PlacementSpec{TargetNamespace: "prod", TargetName: "store"},
			SuspendSpec:   metav1alpha1.SuspendSpec{Suspend: true},
			EmptySpec:     metav1alpha1.EmptySpec{EmptyAllowed: true},
			PoliciesSpec: metav1alpha1.PoliciesSpec{
				AdoptionPolicy: metav1alpha1.AdoptAlways, UpdatePolicy: metav1alpha1.UpdateReplace,
				DeletePolicy: metav1alpha1.DeleteOrphan, MissingNamespacesPolicy: metav1alpha1.MissingNamespacesRefuse,
			},
			ResyncSpec:  metav1alpha1.ResyncSpec{Interval: &metav1.Duration{}},
			RetrySpec:   metav1alpha1.RetrySpec{RetryDuration: &metav1.Duration{Duration: time.Second}},
			TimeoutSpec: metav1alpha1.TimeoutSpec{TimeoutDuration: &metav1.Duration{Duration: time.Hour}},
		})
		namespace, name := c.Placement()
		Expect([]string{namespace, name}).To(Equal([]string{"prod", "store"}))
		Expect([]time.Duration{c.Spec.ResyncInterval(), c.Spec.RetryInterval(), c.Spec.Timeout()}).
			To(Equal([]time.Duration{0, time.Second, time.Hour}))
		Expect(c.Spec.Suspended()).To(BeTrue())
		Expect(c.Spec.Policies()).To(Equal(metav1alpha1.Policies{
			Adoption: metav1alpha1.AdoptAlways, Update: metav1alpha1.UpdateReplace, Delete: metav1alpha1.DeleteOrphan,
			MissingNamespaces: metav1alpha1.MissingNamespacesRefuse,
		}))
		Expect(c.Spec.AllowEmpty()).To(BeTrue())
		Expect(c.Validate()).To(Succeed())
	})

	It("refuses a webhook without a polled input", func() {
		object := v1alpha1.Input{Name: "a", Object: &v1alpha1.ObjectInput{APIVersion: "v1", Kind: "ConfigMap", Name: "a"}}
		poll := v1alpha1.Input{Name: "b", Poll: &v1alpha1.PollInput{URL: "https://example.com"}}
		c := component(v1alpha1.ComponentSpec{Webhook: &v1alpha1.Webhook{}, Inputs: []v1alpha1.Input{object}})
		Expect(c.Validate()).
			To(MatchError(ContainSubstring("spec.webhook: it has an effect only with an input that is polled")))
		c.Spec.Inputs = append(c.Spec.Inputs, poll)
		Expect(c.Validate()).To(Succeed())
	})

	It("decodes whole numbers in values as integers", func() {
		c := component(v1alpha1.ComponentSpec{Values: &runtime.RawExtension{Raw: []byte(
			`{"a":10000000,"b":[1,1.5],"c":null}`)}})
		Expect(c.GetParameters()).To(Equal(map[string]any{"a": int64(10000000), "b": []any{int64(1), 1.5}, "c": nil}))
	})

	It("names the field of values that are not a map", func() {
		_, err := component(v1alpha1.ComponentSpec{Values: &runtime.RawExtension{Raw: []byte(`[1]`)}}).GetParameters()
		Expect(err).To(MatchError(HavePrefix("spec.values: ")))
	})

	It("lists each referenced object once, as optional only if all references are optional", func() {
		c := component(v1alpha1.ComponentSpec{
			Source: v1alpha1.Source{ConfigMap: &v1alpha1.ConfigMapSource{Name: "shop"}},
			ValuesFrom: []metav1alpha1.ValuesReference{
				{Kind: "ConfigMap", Name: "shop", Optional: true},
				{Kind: "Secret", Name: "shop", Optional: true},
				{Kind: "Secret", Name: "db", Optional: true},
				{Kind: "Secret", Name: "db"},
			},
		})
		Expect(c.References()).To(Equal([]metav1alpha1.Reference{
			{Kind: "ConfigMap", Name: "shop"}, {Kind: "Secret", Name: "shop", Optional: true}, {Kind: "Secret", Name: "db"},
		}))
	})

	It("needs all parts of its source", func() {
		c := component(v1alpha1.ComponentSpec{
			Source:     v1alpha1.Source{ConfigMaps: &v1alpha1.ConfigMapsSource{Names: []string{"a", "b", "a"}, SHA256: "sum"}},
			ValuesFrom: []metav1alpha1.ValuesReference{{Kind: "ConfigMap", Name: "b", Optional: true}},
		})
		Expect(c.References()).To(Equal([]metav1alpha1.Reference{
			{Kind: "ConfigMap", Name: "a"},
			{Kind: "ConfigMap", Name: "b"},
		}))
		Expect(c.SourceName()).To(Equal("ConfigMap a and 2 more"))
		c.Spec.Source.ConfigMaps.Names = []string{"a"}
		Expect(c.SourceName()).To(Equal("ConfigMap a"))
	})

	It("has the same inputs as before there were sources of several ConfigMaps", func() {
		c := component(v1alpha1.ComponentSpec{Source: v1alpha1.Source{ConfigMap: &v1alpha1.ConfigMapSource{Name: "a"}}})
		Expect(json.Marshal(c.RenderInputs())).To(BeEquivalentTo(`{"source":{"configMap":{"name":"a"}}}`))
	})

	It("refers to the inputs and the credentials of its function", func() {
		c := component(v1alpha1.ComponentSpec{
			ValuesFrom: []metav1alpha1.ValuesReference{{Kind: "Secret", Name: "both"}},
			Function: &v1alpha1.FunctionGenerator{
				Items:                []v1alpha1.FunctionItem{{Kind: "ConfigMap", Name: "zones", Optional: true}},
				CARef:                &v1alpha1.CAReference{Name: "ca"},
				TokenRef:             &v1alpha1.TokenReference{Name: "token"},
				ClientCertificateRef: &v1alpha1.SecretReference{Name: "both"},
			},
		})
		Expect(c.References()).To(Equal([]metav1alpha1.Reference{
			{Kind: "Secret", Name: "both"},
			{Kind: "ConfigMap", Name: "zones", Optional: true},
			{Kind: "Secret", Name: "ca", Credential: true},
			{Kind: "Secret", Name: "token", Credential: true},
		}))
		c.Spec.Function.CARef.Kind = "ConfigMap"
		Expect(c.References()).To(ContainElement(metav1alpha1.Reference{Kind: "ConfigMap", Name: "ca", Credential: true}))
	})

	It("makes no revision after a change of the function's credentials", func() {
		before := component(v1alpha1.ComponentSpec{Function: &v1alpha1.FunctionGenerator{URL: "https://a"}})
		same := before.DeepCopy()
		same.Spec.Function.CARef, same.Spec.Function.TokenRef = &v1alpha1.CAReference{}, &v1alpha1.TokenReference{}
		same.Spec.Function.ClientCertificateRef, same.Spec.Function.Timeout = &v1alpha1.SecretReference{}, &metav1.Duration{}
		Expect(same.RenderInputs()).To(Equal(before.RenderInputs()))
		for _, change := range []func(*v1alpha1.FunctionGenerator){
			func(f *v1alpha1.FunctionGenerator) { f.URL = "https://b" },
			func(f *v1alpha1.FunctionGenerator) { f.Items = []v1alpha1.FunctionItem{{}} },
		} {
			other := before.DeepCopy()
			change(other.Spec.Function)
			Expect(other.RenderInputs()).NotTo(Equal(before.RenderInputs()))
		}
	})

	It("makes a revision only after changes of inputs of the rendering", func() {
		before := component(v1alpha1.ComponentSpec{Source: v1alpha1.Source{Inline: &v1alpha1.InlineSource{Files: map[string]string{"a": "b"}}}})
		same := before.DeepCopy()
		same.Spec.Externals = []v1alpha1.External{{Kind: "Schema"}}
		same.Spec.Suspend, same.Spec.Interval, same.Spec.RetryDuration = true, &metav1.Duration{Duration: 1},
			&metav1.Duration{Duration: 1}
		same.Spec.TimeoutDuration = &metav1.Duration{Duration: 1}
		same.Spec.AdoptionPolicy, same.Spec.UpdatePolicy, same.Spec.DeletePolicy = metav1alpha1.AdoptNever,
			metav1alpha1.UpdateReplace, metav1alpha1.DeleteOrphan
		same.Spec.MissingNamespacesPolicy, same.Spec.EmptyAllowed = metav1alpha1.MissingNamespacesRefuse, true
		same.Spec.ServiceAccount, same.Spec.Target = "deployer", &metav1alpha1.KubeConfigSource{}
		same.Spec.DependsOn = []metav1alpha1.Dependency{{Name: "db"}}
		same.Spec.AllowDependents = []metav1alpha1.Consent{{Namespace: "blog"}}
		Expect(same.RenderInputs()).To(Equal(before.RenderInputs()))
		for _, change := range []func(*v1alpha1.ComponentSpec){
			func(s *v1alpha1.ComponentSpec) { s.Source.Inline.Files["a"] = "c" },
			func(s *v1alpha1.ComponentSpec) { s.Path = "charts" },
			func(s *v1alpha1.ComponentSpec) { s.Generator = "Helm" },
			func(s *v1alpha1.ComponentSpec) { s.PostRenderers = []v1alpha1.PostRenderer{{}} },
			func(s *v1alpha1.ComponentSpec) {
				s.ManagedTypes = []metav1alpha1.TypePattern{{Group: "*", Kind: "Widget"}}
			},
			func(s *v1alpha1.ComponentSpec) { s.ValuesFrom = []metav1alpha1.ValuesReference{{Name: "db"}} },
		} {
			other := before.DeepCopy()
			change(&other.Spec)
			Expect(other.RenderInputs()).NotTo(Equal(before.RenderInputs()))
		}
	})

	It("makes no revision after a change of the archive's URL", func() {
		before := component(v1alpha1.ComponentSpec{Source: v1alpha1.Source{HTTP: &v1alpha1.HTTPSource{URL: "https://a.example.com", SHA256: "a"}}})
		moved, other := before.DeepCopy(), before.DeepCopy()
		moved.Spec.Source.HTTP.URL = "https://b.example.com"
		other.Spec.Source.HTTP.SHA256 = "b"
		Expect(moved.RenderInputs()).To(Equal(before.RenderInputs()))
		Expect(other.RenderInputs()).NotTo(Equal(before.RenderInputs()))
	})

	It("is rejected with all of its errors at once", func() {
		err := component(v1alpha1.ComponentSpec{
			Source:      v1alpha1.Source{HTTP: &v1alpha1.HTTPSource{}},
			TimeoutSpec: metav1alpha1.TimeoutSpec{TimeoutDuration: &metav1.Duration{Duration: -time.Second}},
		}).Validate()
		Expect(strings.Split(err.Error(), "\n")).To(Equal([]string{
			"spec.timeout: -1s is negative; use a duration such as 10m",
			`spec.source.http: url "": want a URL such as https://example.com/chart-1.2.3.tgz`,
			`sha256 "": want 64 hexadecimal digits in lower case, as sha256sum prints them`,
		}))
	})
})
