// Shows the operations of the API with Swagger UI; a classic script, as the library is one.
"use strict";

/** @type {any} */ (window).SwaggerUIBundle({
  url: document.getElementById("operations")?.dataset.address,
  dom_id: "#operations",
  deepLinking: true,
  validatorUrl: null,
});
