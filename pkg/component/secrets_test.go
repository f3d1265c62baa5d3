package component

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// listSecretsBy answers requests for Secrets, of which the one with the number of the failure fails, counted from 1, or all of them where it is 0.
func listSecretsBy(cause error, failure int, secrets ...metav1.PartialObjectMetadata) *Engine {
	answering, asked := metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme()), 0
	answering.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		asked++
		if failure == 0 || asked == failure {
			return true, nil, cause
		}
		list := &metav1.List{}
		for i := range secrets {
			list.Items = append(list.Items, runtime.RawExtension{Object: &secrets[i]})
		}
		return true, list, nil
	})
	return &Engine{connection: &connection{metadata: answering}}
}

func mayNotList() error {
	return apierrors.NewForbidden(corev1.Resource("secrets"), "", nil)
}

func TestRecordsAreFoundTogetherOrNotAtAll(t *testing.T) {
	for failure := 1; failure <= 3; failure++ {
		r, p := NewReconciler[*part]("parts.example.com", nil, Options{}), newPart()
		p.UID, p.status = "u", metav1alpha1.Status{PhaseRecord: records.PhasesUnknown, Identity: components.Identity("cluster", "u")}
		owner := manifests.Owner{Namespace: "shop", Name: "app"}
		secret := func(kind records.Kind, id string) metav1.PartialObjectMetadata {
			found := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}
			found.Namespace, found.Name = "shop", records.NamePrefix(kind, owner.ID(), id)+"-0"
			found.Labels = map[string]string{r.name + "/" + records.LabelRecord: owner.ID()}
			found.Annotations = map[string]string{r.name + "/record-parts": "1"}
			return found
		}
		withRecords(r, listSecretsBy(apierrors.NewTooManyRequestsError("later"), failure, secret(records.Phases, "a"), secret(records.Rendering, "b")))
		err := r.findRecords(t.Context(), p, owner)
		found := []string{p.status.PhaseRecord, p.status.RenderedSet}
		if err == nil && !slices.Equal(found, []string{"a", "b"}) || err != nil && !slices.Equal(found, []string{records.PhasesUnknown, ""}) {
			t.Errorf("with failure %d (%v) the status names %q", failure, err, found)
		}
	}
}

func TestRecordsThatNobodyMayListAreUnknownWhereTheStatusNamesNone(t *testing.T) {
	for named, want := range map[string]string{"": records.PhasesUnknown, records.PhasesUnknown: records.PhasesUnknown, records.PhasesPending: records.PhasesPending, "a": "a"} {
		r, p := NewReconciler[*part]("parts.example.com", nil, Options{}), newPart()
		p.UID, p.status = "u", metav1alpha1.Status{PhaseRecord: named, RenderedSet: "b", Identity: components.Identity("cluster", "u")}
		withRecords(r, listSecretsBy(mayNotList(), 0))
		if err := r.rebuildRecords(t.Context(), p, manifests.Owner{Namespace: "shop", Name: "app"}); err != nil {
			t.Fatal(err)
		}
		if p.status.PhaseRecord != want || p.status.RenderedSet != "b" {
			t.Errorf("named %q: the status says %q and %q", named, p.status.PhaseRecord, p.status.RenderedSet)
		}
	}
}

func TestWhatWasRenderedIsKeptWithoutAListWhereTheStatusNamesIt(t *testing.T) {
	for named, stalls := range map[string]bool{"": true, "a": false} {
		r, p := NewReconciler[*part]("parts.example.com", nil, Options{}), newPart()
		p.status = metav1alpha1.Status{PhaseRecord: records.PhasesUnknown, RenderedSet: named}
		r.secrets.of(client.ObjectKeyFromObject(p)).SetID(records.Rendering, "a")
		withRecords(r, listSecretsBy(mayNotList(), 0))
		if err := r.keep(t.Context(), p, manifests.Owner{Namespace: "shop", Name: "app"}, draft{id: "a"}); (err != nil) != stalls {
			t.Errorf("named %q: %v", named, err)
		}
	}
}

func TestADeletionFindsOutWhatIsUnknownWhereAnythingWasApplied(t *testing.T) {
	for applied, stalls := range map[string]bool{"": false, "inputs": true} {
		r, p := NewReconciler[*part]("parts.example.com", nil, Options{}), newPart()
		p.UID, p.status = "u", metav1alpha1.Status{PhaseRecord: records.PhasesUnknown, AppliedDigest: applied, Identity: components.Identity("cluster", "u")}
		withRecords(r, listSecretsBy(apierrors.NewTooManyRequestsError("later"), 0))
		if err := r.findPhases(t.Context(), p, Pass{Owner: manifests.Owner{Namespace: "shop", Name: "app"}}); (err != nil) != stalls {
			t.Errorf("applied %q: %v", applied, err)
		}
	}
}

func TestRecordsThatNobodyCouldLookForAreLookedForAgain(t *testing.T) {
	r, p := NewReconciler[*part]("parts.example.com", nil, Options{}), newPart()
	owner := manifests.Owner{Namespace: "shop", Name: "app"}
	p.status.PhaseRecord = records.PhasesUnknown
	withRecords(r, listSecretsBy(mayNotList(), 0))
	if err := r.endPhases(t.Context(), p, owner); err != nil || p.status.PhaseRecord != "" {
		t.Errorf("the end of phases: %v, and the status says %q", err, p.status.PhaseRecord)
	}
	if err := r.keepNothing(t.Context(), p, owner); err != nil {
		t.Errorf("nothing to keep: %v", err)
	}
	withRecords(r, listSecretsBy(nil, -1))
	end := func() {
		t.Helper()
		if err := r.endPhases(t.Context(), p, owner); err != nil {
			t.Error(err)
		}
		if err := r.keepNothing(t.Context(), p, owner); err != nil {
			t.Error(err)
		}
	}
	requests := func() int { return len(r.local.metadata.(*metadatafake.FakeMetadataClient).Actions()) }
	end()
	if requests() == 0 {
		t.Error("nobody looked for them again")
	}
	before := requests()
	end()
	if requests() != before {
		t.Error("somebody looked for them although nothing was found")
	}
}
