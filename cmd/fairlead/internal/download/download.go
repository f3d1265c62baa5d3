package download

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/url"
	"strings"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/pkg/source"
	"github.com/fairlead-io/fairlead/pkg/source/fetch"
)

// Archive is an archive that was downloaded.
type Archive struct {
	// Data contains the bytes as the server sent them, and SHA256 is their digest.
	Data   []byte
	SHA256 string
	Files  fs.FS
}

// IsURL reports whether a source on the command line is a URL, and not the path of a folder or a file.
func IsURL(place string) bool { return strings.Contains(place, "://") }

// Name returns a source on the command line as messages name it: a URL without user, query and fragment, which may have
// credentials, and a path as it is.
func Name(place string) string {
	if !IsURL(place) {
		return place
	}
	return metav1alpha1.SourceReference{URL: place}.Location()
}

// HasQuery reports whether a URL has a query.
func HasQuery(place string) bool {
	location, err := url.Parse(place)
	return err == nil && location.RawQuery != ""
}

// Get downloads an archive. If digest is not empty, an archive with another digest is refused. Errors of the URL and of
// the archive are errors of input; if the server cannot be reached, the result is unknown. No error has the query or
// the user of the URL.
func Get(ctx context.Context, place, digest string) (Archive, error) {
	name := Name(place)
	if err := check(place, name); err != nil {
		return Archive{}, err
	}
	data, err := fetch.NewHTTP(fetch.Options{}).Get(ctx, place, fetch.DefaultArchiveBytes)
	if _, passing := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err); passing {
		return Archive{}, exit.Unasked("%w", err)
	}
	if err != nil {
		return Archive{}, exit.BadInput("%w", err)
	}
	sum := sha256.Sum256(data)
	got := Archive{Data: data, SHA256: hex.EncodeToString(sum[:])}
	if digest != "" && got.SHA256 != digest {
		return Archive{}, exit.BadInput("%s: the archive has the SHA-256 digest %s, want %s: check the URL and the digest",
			name, got.SHA256, digest)
	}
	if got.Files, err = source.Unpack(data, source.Limits{}); err != nil {
		return Archive{}, exit.BadInput("%s: %w", name, err)
	}
	return got, nil
}

// check returns an error if the operator could not fetch from a URL. Name is the URL in messages.
func check(place, name string) error {
	parsed, err := url.Parse(place)
	switch {
	case err != nil:
		return exit.BadInput("the URL of the source cannot be read; want a URL such as https://example.com/chart-1.2.3.tgz")
	case parsed.Scheme == "oci":
		return exit.BadInput("%s: want an http or https URL of a .tgz archive; download the chart with helm pull, and name "+
			"the archive", name)
	case parsed.Scheme != "http" && parsed.Scheme != "https", parsed.Host == "":
		return exit.BadInput("%s: want an http or https URL of a .tgz archive, such as https://example.com/chart-1.2.3.tgz, "+
			"or else a local folder or archive", name)
	case parsed.User != nil:
		return exit.BadInput("%s: the URL has a user or a password, which everybody could read who may read the component, "+
			"and the operator sends no credentials: download the archive, and name the file", name)
	}
	return nil
}
