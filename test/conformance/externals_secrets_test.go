package conformance_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// leaky is a kind whose errors and messages contain the password. mode says which call fails.
type leaky struct {
	componenttest.NamedThings
	mode *atomic.Value
}

// fail returns an error with the password if the mode is that of the call.
func (k leaky) fail(call string, r thingRef) error {
	switch k.mode.Load() {
	case call + " panics":
		panic("connect as admin:" + passwordOf(r))
	case call + " is refused":
		return external.RefusedFor(errors.New("the password "+passwordOf(r)+" is wrong"), 100*time.Millisecond)
	case call + " fails":
		return fmt.Errorf("post https://admin:%s@cloud.example.com: time-out", passwordOf(r))
	}
	return nil
}

func passwordOf(r thingRef) string {
	for _, data := range r.References {
		return string(data["password"])
	}
	return ""
}

func (k leaky) Observe(ctx context.Context, r thingRef) (componenttest.Thing, error) {
	if err := k.fail("Observe", r); err != nil {
		return componenttest.Thing{}, err
	}
	t, err := k.NamedThings.Observe(ctx, r)
	if k.mode.Load() == "not ready" {
		t.Phase = "waiting for " + passwordOf(r)
	}
	return t, err
}

func (k leaky) Create(ctx context.Context, r thingRef) (thingCreated, error) {
	if err := k.fail("Create", r); err != nil {
		return thingCreated{}, err
	}
	return k.NamedThings.Create(ctx, r)
}

func (k leaky) Update(ctx context.Context, r thingRef, t componenttest.Thing) (componenttest.Thing, error) {
	if err := k.fail("Update", r); err != nil {
		return t, err
	}
	return k.NamedThings.Update(ctx, r, t)
}

func (k leaky) Delete(ctx context.Context, r thingRef) error {
	if err := k.fail("Delete", r); err != nil {
		return err
	}
	return k.NamedThings.Delete(ctx, r)
}

// spanTexts records all spans as texts.
type spanTexts struct{ *tracetest.SpanRecorder }

func (t spanTexts) String() string {
	text := ""
	for _, s := range t.Ended() {
		text += fmt.Sprint(s.Name(), s.Attributes(), s.Status(), s.Events(), "\n")
	}
	return text
}

// everythingShown returns what people and programs can read about the components of a namespace, by place. The Secret
// with the password is left out.
func everythingShown(ctx context.Context, namespace, secret string, spans fmt.Stringer) map[string]string {
	GinkgoHelper()
	shown := map[string]string{"logs": CurrentSpecReport().CapturedGinkgoWriterOutput, "traces": spans.String()}
	var gadgets gadget.GadgetList
	var events corev1.EventList
	var secrets corev1.SecretList
	var configMaps corev1.ConfigMapList
	for place, list := range map[string]client.ObjectList{
		"components": &gadgets, "events": &events, "Secrets": &secrets, "ConfigMaps": &configMaps,
	} {
		Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		text, err := json.Marshal(list)
		Expect(err).NotTo(HaveOccurred())
		shown[place] = string(text)
	}
	shown["Secrets"] = ""
	for _, s := range secrets.Items {
		if s.Name != secret {
			shown["Secrets"] += fmt.Sprintf("%s %v %v %q\n", s.Name, s.Labels, s.Annotations, s.Data)
		}
	}
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	shown["metrics"] = fmt.Sprint(families)
	return shown
}

var _ = Describe("Credentials of externals", func() {
	It("are shown in no log, metric, event, status, trace, record and preview, although errors of the handler "+
		"contain them", func(ctx SpecContext) {
		const marker = "kaleidoscope-7261"
		cloud, operator, namespace := componenttest.NewCloud(), newOperatorName(), newNamespace(ctx)
		mode := &atomic.Value{}
		mode.Store("Create is refused")
		short := quick
		short.Poll, short.Settle = 100*time.Millisecond, 50*time.Millisecond
		spans := spanTexts{tracetest.NewSpanRecorder()}
		options := component.Options{
			Externals: []external.Driver{
				external.Of("NamedThing", leaky{componenttest.NamedThings{Things: componenttest.Things{Cloud: cloud}}, mode},
					short),
			},
			Telemetry: component.Telemetry{
				TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans.SpanRecorder)),
			},
		}
		runOperator(operator, operatorOptions{component: options})
		credentials := &corev1.Secret{StringData: map[string]string{"password": marker}}
		credentials.Namespace, credentials.Name = namespace, "access"
		Expect(k8s.Create(ctx, credentials)).To(Succeed())
		with := func(value string) string {
			return thing("NamedThing", "one", value, operator+`/export: "value=self.status.value"`) +
				"references: [{kind: Secret, name: access}]\n"
		}
		g := newGadget(ctx, namespace, "app", with("a"), servedBy(operator))
		forecast := func(manifests string) string {
			GinkgoHelper()
			next, ok := current(ctx, g).DeepCopyObject().(*gadget.Gadget)
			Expect(ok).To(BeTrue())
			next.Spec.Manifests = manifests
			foreseen, err := previewWith(operator, options).Apply(ctx, next)
			text := fmt.Sprintf("%+v %v", foreseen, err)
			for _, s := range foreseen.Steps {
				text += fmt.Sprint(s.Before, s.After)
			}
			return text
		}
		expectHidden := func(during string) {
			GinkgoHelper()
			shown := everythingShown(ctx, namespace, credentials.Name, spans)
			shown["preview"] = forecast(with("foreseen"))
			for place, text := range shown {
				Expect(text).NotTo(BeEmpty(), place)
				for _, form := range []string{marker, base64.StdEncoding.EncodeToString([]byte(marker))} {
					Expect(strings.Contains(text, form)).To(BeFalse(), "%s: the %s contain the password", during, place)
				}
			}
		}
		waitsFor := func(text string) {
			GinkgoHelper()
			Eventually(ctx, func() string {
				return fmt.Sprint(current(ctx, g).Status.Waiting,
					current(ctx, g).Status.Conditions)
			}).Should(ContainSubstring(text))
			expectHidden(text)
		}

		// fails lets a call of the handler fail until its error was traced again, and searches for the password.
		fails := func(during, text string) {
			GinkgoHelper()
			before := strings.Count(spans.String(), text)
			mode.Store(during)
			requestPass(ctx, g, operator)
			Eventually(ctx, func() int { return strings.Count(spans.String(), text) }).Should(BeNumerically(">", before), during)
			expectHidden(during)
		}

		waitsFor("the password")
		fails("Create fails", "cloud.example.com")
		fails("Create panics", "panicked")
		mode.Store("")
		expectReady(ctx, g)
		expectHidden("ready")

		fails("Observe is refused", "the password")
		fails("Observe fails", "cloud.example.com")
		fails("Observe panics", "panicked")
		mode.Store("not ready")
		waitsFor("its phase is waiting for")
		mode.Store("Update fails")
		changeManifests(ctx, g, with("b"))
		waitsFor("cloud.example.com")
		fails("Update panics", "panicked")
		mode.Store("Delete is refused")
		remove(ctx, g)
		waitsFor("the password")
		mode.Store("")
		expectNotFound(ctx, g)
		Expect(cloud.Things()).To(BeEmpty())
	}, SpecTimeout(5*time.Minute))
})
