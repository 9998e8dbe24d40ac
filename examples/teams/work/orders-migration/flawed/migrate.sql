-- Run once over a database made by schema.sql.
DROP VIEW revenue;
CREATE TABLE customers (
    id INTEGER PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL
);
INSERT INTO customers (email, name)
    SELECT DISTINCT email, name FROM orders;
CREATE TABLE new_orders (
    id INTEGER PRIMARY KEY,
    placed TEXT NOT NULL,
    cents INTEGER NOT NULL,
    customer_id INTEGER REFERENCES customers (id)
);
INSERT INTO new_orders
    SELECT o.id, o.placed, o.cents, c.id FROM orders o JOIN customers c ON c.email = o.email;
DROP TABLE orders;
ALTER TABLE new_orders RENAME TO orders;
CREATE VIEW revenue AS
    SELECT placed AS day, sum(cents) AS cents FROM orders GROUP BY placed;
