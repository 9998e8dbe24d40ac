-- Run once over a database made by schema.sql.
BEGIN;
DROP VIEW revenue;
CREATE TABLE customers (
    id INTEGER PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL
);
-- Beside max(), SQLite takes the other columns from the row that holds the maximum.
INSERT INTO customers (email, name)
    SELECT address, name FROM (
        SELECT lower(trim(email)) AS address, coalesce(name, '') AS name, max(id)
        FROM orders WHERE trim(coalesce(email, '')) <> '' GROUP BY address
    );
CREATE TABLE new_orders (
    id INTEGER PRIMARY KEY,
    placed TEXT NOT NULL,
    cents INTEGER NOT NULL,
    customer_id INTEGER REFERENCES customers (id)
);
INSERT INTO new_orders
    SELECT o.id, o.placed, o.cents, c.id
    FROM orders o LEFT JOIN customers c ON c.email = lower(trim(o.email));
DROP TABLE orders;
ALTER TABLE new_orders RENAME TO orders;
CREATE INDEX orders_customer ON orders (customer_id);
CREATE VIEW revenue AS
    SELECT placed AS day, sum(cents) AS cents FROM orders GROUP BY placed;
COMMIT;
