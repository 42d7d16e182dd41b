package route_test

import (
	"encoding/json"
	"testing"

	"mayfly/views/page/activity"
	"mayfly/views/page/admin"
	"mayfly/web/dashboard/pages"
	"mayfly/web/openapi"
)

// apiOf returns an API with one operation.
func apiOf() *openapi.Document {
	s := &openapi.Schemas{}
	type Order struct {
		Lines []string `json:"lines"`
	}
	o := &openapi.Operation{
		ID: "change", Method: "PUT", Path: "/orders/{path}", Status: "204", Summary: "Change it", Tags: []string{"Orders"},
		Parameters:  []openapi.Parameter{{Name: "path", In: "path", Required: true, Schema: &openapi.Schema{Type: "string"}, Example: "a b"}},
		RequestBody: &openapi.RequestBody{Content: map[string]openapi.Media{"application/json": {Schema: s.Request(Order{}), Example: json.RawMessage("{}")}}, MaxBytes: 10},
		Responses:   map[string]*openapi.Response{"204": {}, "404": {Description: "Not Found: OrderNotFound, Gone"}},
		Example:     openapi.Example{Address: "/orders/a b?x='1 2'", Body: `{"lines":["it's"]}`},
	}
	return &openapi.Document{Tags: []openapi.Tag{{Name: "Orders"}}, Ordered: []*openapi.Operation{o}, Components: openapi.Components{Schemas: s.All()}}
}

// TestReference checks the page of the API of a namespace other than the server's own.
func TestReference(t *testing.T) {
	inside(t, &world{more: func(o *pages.Options) { o.API, o.Document = "http://127.0.0.1:8080/api/v1/n/shop", apiOf }}, func(w *world) {
		m := as[admin.APIReference](w, "/n/default/api?filter=CHANGE+orders")
		if m.Document != "/api/v1/n/shop/openapi.json" || m.Base != "http://127.0.0.1:8080/api/v1/n/shop" || m.Shell.Live.On() {
			w.Errorf("the page is about %s, at %s", m.Document, m.Base)
		}
		o := m.Groups[0].Operations[0]
		want := `curl -X PUT 'http://127.0.0.1:8080/api/v1/n/shop/orders/a%20b?x='\''1%202'\''' \` + "\n" + `     -d '{"lines":["it'\''s"]}'`
		if o.Curl != want || o.Hidden || o.TryURL != "" || o.Problems[0].Status != "404 Not Found" || len(o.Problems[0].Codes) != 2 {
			w.Errorf("%+v\nwant %s", o, want)
		}
		if k := o.Body.Shapes[0].Members[0]; k.Name != "lines" || !k.Required || !k.Kind.List || k.Kind.Word != "text" {
			w.Errorf("a member is %+v", k)
		}
		if m := as[admin.APIReference](w, "/n/default/api?filter=change+payments"); !m.Groups[0].Operations[0].Hidden {
			w.Error("a filter leaves out no operation")
		}
		if m := as[activity.Metrics](w, "/n/default/metrics"); m.Figures.Source != "/api/v1/n/shop/metrics?span=hour" {
			w.Errorf("charts are of %s", m.Figures.Source)
		}
	})
	isConfined(t, func(w *world) {
		if _, _, err := w.pages.Open(w.Context(), "/n/default/api"); err == nil {
			w.Error("a page exists without an API")
		}
	})
}
