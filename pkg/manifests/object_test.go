package manifests_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestAnObjectWithoutAManifestSaysWhichItIs(t *testing.T) {
	_, err := manifests.Object{Key: manifests.Key{Kind: "ConfigMap", Name: "a"}}.Whole()
	if err == nil || !strings.Contains(err.Error(), "ConfigMap a") {
		t.Errorf("got %v", err)
	}
}
