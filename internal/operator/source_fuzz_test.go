package operator

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Whoever may write the ConfigMaps of a source chooses the names and contents of its files.
func FuzzSource(f *testing.F) {
	f.Add("chart.tgz", []byte("\x1f\x8b"), "")
	f.Add("a/Chart.yaml", []byte("name: a"), "a")
	f.Add("../a", []byte(""), "./..")
	f.Add("kustomization.yaml", []byte("resources: [a]"), ".")
	fuzzing.Run(f, func(t *testing.T, key string, content []byte, path string) {
		const namespace, name = "shop", "source"
		sum := sha256.Sum256(content)
		references := generator.References{
			{Kind: metav1alpha1.ConfigMapReference, Namespace: namespace, Name: name}: {key: content},
		}
		for _, source := range []v1alpha1.Source{
			{Inline: &v1alpha1.InlineSource{Files: map[string]string{key: string(content)}}},
			{ConfigMap: &v1alpha1.ConfigMapSource{Name: name}},
			{ConfigMaps: &v1alpha1.ConfigMapsSource{Names: []string{name}, SHA256: hex.EncodeToString(sum[:])}},
		} {
			component := &v1alpha1.Component{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
				Spec:       v1alpha1.ComponentSpec{Source: source, Path: path},
			}
			found, err := newArchiveCache().folderFor(component, references, nil)
			if err == nil && (found.files == nil || found.digest == "") {
				t.Errorf("the folder of %v has no files or no digest", source)
			}
		}
	})
}
