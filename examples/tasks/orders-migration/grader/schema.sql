CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    placed TEXT NOT NULL,
    cents INTEGER NOT NULL,
    email TEXT,
    name TEXT
);
CREATE VIEW revenue AS
    SELECT placed AS day, sum(cents) AS cents FROM orders GROUP BY placed;
