// Package openapi has the parts of OpenAPI 3.1 that a JSON API of Go structs
// needs, and describes such structs by reflection: their members as encoding/json
// has them, in the words that stand beside them in the source.
//
//	Document     an API: what can be asked, and what is answered
//	Schemas      makes the Schema of a Go type
//	Words        the comments of a package's structs
//
// It knows nothing of any particular API.
package openapi

// Version is the version of OpenAPI that documents are in.
const Version = "3.1.0"

// A Document is an API. All of it is to be marshalled by encoding/json; members
// whose tag is "-" are for those who show it.
type Document struct {
	OpenAPI    string                           `json:"openapi"`
	Info       Info                             `json:"info"`
	Servers    []Server                         `json:"servers,omitempty"`
	Tags       []Tag                            `json:"tags,omitempty"`
	Paths      map[string]map[string]*Operation `json:"paths"` // by path, then by method in small letters
	Components Components                       `json:"components"`

	Ordered []*Operation `json:"-"` // those of Paths, as they are to be read
}

// Info says which API it is.
type Info struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
}

// A Server is where the API is.
type Server struct {
	URL string `json:"url"` // may be relative to the document's
}

// A Tag is a heading over operations.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Components are the schemas that have names.
type Components struct {
	Schemas map[string]*Schema `json:"schemas"`
}

// An Operation is what can be asked by one method at one path.
type Operation struct {
	ID          string               `json:"operationId"`
	Tags        []string             `json:"tags,omitempty"`
	Summary     string               `json:"summary,omitempty"`
	Description string               `json:"description,omitempty"`
	Parameters  []Parameter          `json:"parameters,omitempty"`
	RequestBody *RequestBody         `json:"requestBody,omitempty"`
	Responses   map[string]*Response `json:"responses"` // by status

	Method string `json:"-"` // in capitals
	Path   string `json:"-"`
	Status string `json:"-"` // of the answer when all is well

	Example Example `json:"-"` // the whole of a request; its parts stand with what they are examples of
}

// An Example is a request that is answered well.
type Example struct {
	Address string // below the server's, with its query
	Body    string // empty: none is sent
}

// A Parameter is part of an address.
type Parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"` // path or query
	Description string  `json:"description,omitempty"`
	Required    bool    `json:"required,omitempty"`
	Schema      *Schema `json:"schema"`
	Example     any     `json:"example,omitempty"`
}

// A RequestBody is what is sent.
type RequestBody struct {
	Description string           `json:"description,omitempty"`
	Required    bool             `json:"required,omitempty"`
	Content     map[string]Media `json:"content"`                        // by media type
	Most        int64            `json:"x-maximum-bytes,omitempty"`      // zero: without an end
	MostOfLine  int64            `json:"x-maximum-line-bytes,omitempty"` // of a body of lines
}

// A Response is what is answered.
type Response struct {
	Description string           `json:"description"`
	Content     map[string]Media `json:"content,omitempty"` // by media type
}

// A Media is what a body is made of. Of lines it is what each of them is.
type Media struct {
	Schema  *Schema `json:"schema"`
	Example any     `json:"example,omitempty"` // of lines a text
}
