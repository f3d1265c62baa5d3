package fetch

import "net/http"

// miss is what a server said of an archive that was not the right one. With it, the next attempt is answered without the archive as long as
// the server has the same one.
type miss struct {
	digest, etag, modified string
}

func missOf(response *http.Response, digest string) miss {
	return miss{digest: digest, etag: response.Header.Get("ETag"), modified: response.Header.Get("Last-Modified")}
}

// missed returns what is known of a URL.
func (h *HTTP) missed(url string) miss {
	known, _ := h.misses.Get(url)
	m, _ := known.(miss)
	return m
}

// ask makes a request one for something else than what was there before. It may be what is wanted by now.
func (m miss) ask(request *http.Request, wanted string) {
	if m.digest == "" || m.digest == wanted {
		return
	}
	if m.etag != "" {
		request.Header.Set("If-None-Match", m.etag)
	}
	if m.modified != "" {
		request.Header.Set("If-Modified-Since", m.modified)
	}
}
