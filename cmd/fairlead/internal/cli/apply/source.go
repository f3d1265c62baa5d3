package apply

import (
	"context"
	"fmt"
	"regexp"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changepreview"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/download"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/source/fetch"
)

const flagSHA256 = "sha256"

func addDigestFlag(flags *pflag.FlagSet, digest *string) {
	flags.StringVar(digest, flagSHA256, "",
		"SHA-256 digest that the archive behind a URL must have; by default its digest is computed and used")
}

// sha256Digits matches a digest as sha256sum prints it.
var sha256Digits = regexp.MustCompile(`^[0-9a-f]{64}$`)

// load returns the source of an apply: a folder, an archive, or the archive behind a URL. It warns if a URL has a
// query.
func (o *specOptions) load(ctx context.Context, place string, warn func(error)) (publish.Archive, error) {
	digest, err := o.digestFor(place)
	if err != nil {
		return publish.Archive{}, err
	}
	archive, err := publish.Load(ctx, place, digest)
	if err == nil && archive.URL != "" && download.HasQuery(place) {
		warn(fmt.Errorf("%s: the component stores the URL with its query, and everybody may read it who may read the "+
			"component; the operator requests the URL again after each restart, so the query must not expire",
			download.Name(place)))
	}
	if ctx.Err() != nil {
		return archive, ctx.Err()
	}
	return archive, err
}

// digestFor returns the digest that the archive behind a URL must have: that of the flag, or that of the manifest if
// the manifest has the same URL. It is empty if any archive is accepted.
func (o *specOptions) digestFor(place string) (string, error) {
	switch {
	case o.sha256 == "":
	case !download.IsURL(place):
		return "", exit.BadUsage("--sha256 is the digest of the archive behind a URL; %s is none", place)
	case !sha256Digits.MatchString(o.sha256):
		return "", exit.BadUsage("--sha256 %q: want 64 hexadecimal digits in lower case, as sha256sum prints them", o.sha256)
	}
	if o.sha256 != "" || o.manifest == nil {
		return o.sha256, nil
	}
	if url, _, _ := unstructured.NestedString(o.manifest.Object, "spec", "source", "http", "url"); url != place {
		return "", nil
	}
	digest, _, err := unstructured.NestedString(o.manifest.Object, "spec", "source", "http", "sha256")
	if err != nil {
		return "", exit.BadInput("the manifest: %w", err)
	}
	return digest, nil
}

// fetcherOf returns a Fetcher that has the archive of an apply, or nil if the archive is not behind a URL.
func fetcherOf(archive publish.Archive) component.Fetcher {
	if archive.URL == "" {
		return nil
	}
	return changepreview.Downloaded{Fetcher: fetch.NewHTTP(fetch.Options{}), Archive: archive}
}
