package fetch

import "net/http"

// miss holds the validators of a response whose archive had the wrong digest. With them, the next request is answered
// without the archive as long as it is unchanged.
type miss struct {
	digest, etag, modified string
}

func missOf(response *http.Response, digest string) miss {
	return miss{digest: digest, etag: response.Header.Get("ETag"), modified: response.Header.Get("Last-Modified")}
}

// missed returns the miss of a URL.
func (h *HTTP) missed(url string) miss {
	known, _ := h.misses.Get(url)
	m, _ := known.(miss)
	return m
}

// ask makes a request conditional on a change since the miss.
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
