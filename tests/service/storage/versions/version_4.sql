--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: audit; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.audit (
    pk bigint NOT NULL,
    instance_pk bigint NOT NULL,
    at bigint NOT NULL,
    modified_by character varying COLLATE pg_catalog."C",
    operation character varying NOT NULL COLLATE pg_catalog."C",
    transaction_id character varying NOT NULL COLLATE pg_catalog."C",
    before character varying NOT NULL COLLATE pg_catalog."C",
    after character varying NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: audit_pk_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.audit_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: audit_pk_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.audit_pk_seq OWNED BY public.audit.pk;


--
-- Name: cash_days; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.cash_days (
    ledger_pk bigint NOT NULL,
    day bigint NOT NULL,
    high bigint NOT NULL,
    low bigint NOT NULL
);


--
-- Name: clients; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.clients (
    client_id character varying NOT NULL,
    instance_pk bigint NOT NULL,
    secret_hash bytea NOT NULL,
    label character varying NOT NULL,
    created_at bigint NOT NULL,
    revoked_at bigint
);


--
-- Name: idempotency_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.idempotency_keys (
    instance_pk bigint NOT NULL,
    key character varying NOT NULL COLLATE pg_catalog."C",
    request_hash bytea NOT NULL,
    response bytea NOT NULL,
    created_at bigint NOT NULL
);


--
-- Name: instances; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.instances (
    pk bigint NOT NULL,
    id character varying NOT NULL COLLATE pg_catalog."C",
    name character varying NOT NULL COLLATE pg_catalog."C",
    tier integer NOT NULL,
    scale integer NOT NULL,
    "localtime" character varying NOT NULL COLLATE pg_catalog."C",
    entries_start date,
    created_at bigint NOT NULL
);


--
-- Name: instances_pk_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.instances_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: instances_pk_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.instances_pk_seq OWNED BY public.instances.pk;


--
-- Name: journal_entries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.journal_entries (
    pk bigint NOT NULL,
    instance_pk bigint NOT NULL,
    id character varying NOT NULL COLLATE pg_catalog."C",
    datetime bigint NOT NULL,
    description character varying NOT NULL COLLATE pg_catalog."C",
    cash_ledger_pk bigint
);


--
-- Name: journal_entries_pk_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.journal_entries_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: journal_entries_pk_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.journal_entries_pk_seq OWNED BY public.journal_entries.pk;


--
-- Name: ledgers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.ledgers (
    pk bigint NOT NULL,
    instance_pk bigint NOT NULL,
    id character varying NOT NULL COLLATE pg_catalog."C",
    name character varying NOT NULL COLLATE pg_catalog."C",
    debit_credit character varying NOT NULL COLLATE pg_catalog."C",
    editable boolean NOT NULL,
    financial_account_type character varying COLLATE pg_catalog."C",
    is_required boolean NOT NULL,
    parent_pk bigint,
    report_cash_flow boolean NOT NULL,
    sort_code character varying NOT NULL COLLATE pg_catalog."C",
    sub_type character varying NOT NULL COLLATE pg_catalog."C",
    type character varying NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);


--
-- Name: ledgers_pk_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.ledgers_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: ledgers_pk_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.ledgers_pk_seq OWNED BY public.ledgers.pk;


--
-- Name: line_entries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.line_entries (
    pk bigint NOT NULL,
    instance_pk bigint NOT NULL,
    id character varying NOT NULL COLLATE pg_catalog."C",
    journal_entry_pk bigint NOT NULL,
    ledger_pk bigint NOT NULL,
    datetime bigint NOT NULL,
    debit_credit character varying NOT NULL COLLATE pg_catalog."C",
    high bigint NOT NULL,
    low bigint NOT NULL,
    description character varying NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT parts_are_bounded CHECK (((abs(high) < '10000000000'::bigint) AND (abs(low) < '10000000000'::bigint))),
    CONSTRAINT sign_follows_side CHECK (((((debit_credit)::text = 'debit'::text) AND (high >= 0) AND (low >= 0)) OR (((debit_credit)::text = 'credit'::text) AND (high <= 0) AND (low <= 0))))
);


--
-- Name: line_entries_pk_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.line_entries_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: line_entries_pk_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.line_entries_pk_seq OWNED BY public.line_entries.pk;


--
-- Name: line_entry_tags; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.line_entry_tags (
    line_entry_pk bigint NOT NULL,
    tag_pk bigint NOT NULL
);


--
-- Name: settings; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.settings (
    name character varying NOT NULL COLLATE pg_catalog."C",
    value bytea NOT NULL
);


--
-- Name: tag_groups; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.tag_groups (
    pk bigint NOT NULL,
    instance_pk bigint NOT NULL,
    id character varying NOT NULL COLLATE pg_catalog."C",
    name character varying NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: tag_groups_pk_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.tag_groups_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: tag_groups_pk_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.tag_groups_pk_seq OWNED BY public.tag_groups.pk;


--
-- Name: tags; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.tags (
    pk bigint NOT NULL,
    instance_pk bigint NOT NULL,
    id character varying NOT NULL COLLATE pg_catalog."C",
    tag_group_pk bigint NOT NULL,
    name character varying NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: tags_pk_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.tags_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: tags_pk_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.tags_pk_seq OWNED BY public.tags.pk;


--
-- Name: tokens; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.tokens (
    key character varying NOT NULL COLLATE pg_catalog."C",
    instance_pk bigint NOT NULL,
    client_id character varying,
    secret_hash bytea NOT NULL,
    label character varying NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint
);


--
-- Name: transactions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.transactions (
    line_entry_pk bigint NOT NULL,
    instance_pk bigint NOT NULL,
    id character varying NOT NULL COLLATE pg_catalog."C",
    description character varying NOT NULL COLLATE pg_catalog."C",
    personal boolean NOT NULL,
    posted_status character varying NOT NULL COLLATE pg_catalog."C",
    review_status character varying NOT NULL COLLATE pg_catalog."C",
    source_account_id character varying COLLATE pg_catalog."C",
    categorization_method character varying NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: audit pk; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.audit ALTER COLUMN pk SET DEFAULT nextval('public.audit_pk_seq'::regclass);


--
-- Name: instances pk; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.instances ALTER COLUMN pk SET DEFAULT nextval('public.instances_pk_seq'::regclass);


--
-- Name: journal_entries pk; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.journal_entries ALTER COLUMN pk SET DEFAULT nextval('public.journal_entries_pk_seq'::regclass);


--
-- Name: ledgers pk; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ledgers ALTER COLUMN pk SET DEFAULT nextval('public.ledgers_pk_seq'::regclass);


--
-- Name: line_entries pk; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.line_entries ALTER COLUMN pk SET DEFAULT nextval('public.line_entries_pk_seq'::regclass);


--
-- Name: tag_groups pk; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tag_groups ALTER COLUMN pk SET DEFAULT nextval('public.tag_groups_pk_seq'::regclass);


--
-- Name: tags pk; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tags ALTER COLUMN pk SET DEFAULT nextval('public.tags_pk_seq'::regclass);


--
-- Data for Name: audit; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.audit VALUES (1, 1, 1795383068086288, 'anna', 'recategorize_transaction', 'T3', '{"lin_2ad7a45b8f1129ba91a20575":"food"}', '{"lin_2ad7a45b8f1129ba91a20575":"rent"}');


--
-- Data for Name: cash_days; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.cash_days VALUES (5, 20091, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20122, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20150, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20181, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20211, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20242, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20272, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20303, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20334, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20364, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20395, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20425, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20091, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20122, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20150, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20181, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20211, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20242, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20272, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20303, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20334, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20364, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20395, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20425, 0, -1234567);


--
-- Data for Name: clients; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.clients VALUES ('client_2c337e57db4e1105', 1, '\xb78a5796664725f94a4362eb751d7fd6acf4e58faad62a53a241cd76703d764f', 'client', 1795383067971054, NULL);


--
-- Data for Name: idempotency_keys; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: instances; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.instances VALUES (1, 'books', 'books', 3, 2, 'America/New_York', '2024-01-01', 1795383067854285);
INSERT INTO public.instances VALUES (2, 'others', 'books', 3, 2, 'America/New_York', '2024-01-01', 1795383067915777);


--
-- Data for Name: journal_entries; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.journal_entries VALUES (1, 1, 'ent_109c2ccef6256ffbe57a8b82', 1735905600000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (2, 1, 'ent_109c2ccef6256ffbe57a8b83', 1738584000000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (3, 1, 'ent_109c2ccef6256ffbe57a8b84', 1741003200000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (4, 1, 'ent_109c2ccef6256ffbe57a8b85', 1743681600000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (5, 1, 'ent_109c2ccef6256ffbe57a8b86', 1746273600000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (6, 1, 'ent_109c2ccef6256ffbe57a8b87', 1748952000000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (7, 1, 'ent_109c2ccef6256ffbe57a8b88', 1751544000000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (8, 1, 'ent_109c2ccef6256ffbe57a8b89', 1754222400000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (9, 1, 'ent_109c2ccef6256ffbe57a8b8a', 1756900800000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (10, 1, 'ent_109c2ccef6256ffbe57a8b8b', 1759492800000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (11, 1, 'ent_109c2ccef6256ffbe57a8b8c', 1762171200000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (12, 1, 'ent_109c2ccef6256ffbe57a8b8d', 1764763200000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (13, 2, 'ent_080af9bb5b0d6d1ffa06509b', 1735905600000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (14, 2, 'ent_080af9bb5b0d6d1ffa06509c', 1738584000000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (15, 2, 'ent_080af9bb5b0d6d1ffa06509d', 1741003200000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (16, 2, 'ent_080af9bb5b0d6d1ffa06509e', 1743681600000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (17, 2, 'ent_080af9bb5b0d6d1ffa06509f', 1746273600000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (18, 2, 'ent_080af9bb5b0d6d1ffa0650a0', 1748952000000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (19, 2, 'ent_080af9bb5b0d6d1ffa0650a1', 1751544000000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (20, 2, 'ent_080af9bb5b0d6d1ffa0650a2', 1754222400000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (21, 2, 'ent_080af9bb5b0d6d1ffa0650a3', 1756900800000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (22, 2, 'ent_080af9bb5b0d6d1ffa0650a4', 1759492800000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (23, 2, 'ent_080af9bb5b0d6d1ffa0650a5', 1762171200000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (24, 2, 'ent_080af9bb5b0d6d1ffa0650a6', 1764763200000000, 'Groceries', 12);


--
-- Data for Name: ledgers; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.ledgers VALUES (1, 1, 'led_60af35bea7fe9ea67d8c804a', 'Transfers Between Accounts', 'debit', true, NULL, true, NULL, false, '10001', 'transfers_between_accounts', 'asset', 1795383067862171);
INSERT INTO public.ledgers VALUES (2, 1, 'led_cf6d2f0ffafc33aaddb6389c', 'Uncategorized Cash Inflow', 'credit', true, NULL, true, NULL, false, '10002', 'uncategorized_assets', 'asset', 1795383067864697);
INSERT INTO public.ledgers VALUES (3, 1, 'led_df3547f4394e504baf689183', 'Uncategorized Cash Outflow', 'debit', true, NULL, true, NULL, false, '10003', 'uncategorized_assets', 'asset', 1795383067865597);
INSERT INTO public.ledgers VALUES (4, 1, 'led_122a32a7bf4957b748bd6f0c', 'Opening Balance Retained Earnings', 'credit', true, NULL, true, NULL, false, '30001', 'equity', 'equity', 1795383067866541);
INSERT INTO public.ledgers VALUES (5, 1, 'bank', 'Bank', 'debit', true, 'bank_account', false, NULL, true, '10010', 'current_assets', 'asset', 1795383067870339);
INSERT INTO public.ledgers VALUES (6, 1, 'food', 'Food', 'debit', true, NULL, false, NULL, false, '5food', 'operating_expenses', 'expense', 1795383067873957);
INSERT INTO public.ledgers VALUES (7, 1, 'rent', 'Rent', 'debit', true, NULL, false, NULL, false, '5rent', 'operating_expenses', 'expense', 1795383067879882);
INSERT INTO public.ledgers VALUES (8, 2, 'led_5600724c15d882ad454c78a5', 'Transfers Between Accounts', 'debit', true, NULL, true, NULL, false, '10001', 'transfers_between_accounts', 'asset', 1795383067919127);
INSERT INTO public.ledgers VALUES (9, 2, 'led_b565457d64451bd51bb407b0', 'Uncategorized Cash Inflow', 'credit', true, NULL, true, NULL, false, '10002', 'uncategorized_assets', 'asset', 1795383067919806);
INSERT INTO public.ledgers VALUES (10, 2, 'led_4d703388fa6786f813e04e8a', 'Uncategorized Cash Outflow', 'debit', true, NULL, true, NULL, false, '10003', 'uncategorized_assets', 'asset', 1795383067920380);
INSERT INTO public.ledgers VALUES (11, 2, 'led_3dd46e6268161fc71ca866a2', 'Opening Balance Retained Earnings', 'credit', true, NULL, true, NULL, false, '30001', 'equity', 'equity', 1795383067920910);
INSERT INTO public.ledgers VALUES (12, 2, 'bank', 'Bank', 'debit', true, 'bank_account', false, NULL, true, '10010', 'current_assets', 'asset', 1795383067927447);
INSERT INTO public.ledgers VALUES (13, 2, 'food', 'Food', 'debit', true, NULL, false, NULL, false, '5food', 'operating_expenses', 'expense', 1795383067933309);
INSERT INTO public.ledgers VALUES (14, 2, 'rent', 'Rent', 'debit', true, NULL, false, NULL, false, '5rent', 'operating_expenses', 'expense', 1795383067936792);


--
-- Data for Name: line_entries; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.line_entries VALUES (1, 1, 'lin_2ad7a45b8f1129ba91a20570', 1, 5, 1735905600000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (2, 1, 'lin_2ad7a45b8f1129ba91a20571', 1, 6, 1735905600000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (3, 1, 'lin_2ad7a45b8f1129ba91a20572', 2, 5, 1738584000000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (4, 1, 'lin_2ad7a45b8f1129ba91a20573', 2, 6, 1738584000000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (5, 1, 'lin_2ad7a45b8f1129ba91a20574', 3, 5, 1741003200000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (7, 1, 'lin_2ad7a45b8f1129ba91a20576', 4, 5, 1743681600000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (8, 1, 'lin_2ad7a45b8f1129ba91a20577', 4, 6, 1743681600000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (9, 1, 'lin_2ad7a45b8f1129ba91a20578', 5, 5, 1746273600000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (10, 1, 'lin_2ad7a45b8f1129ba91a20579', 5, 6, 1746273600000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (11, 1, 'lin_2ad7a45b8f1129ba91a2057a', 6, 5, 1748952000000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (12, 1, 'lin_2ad7a45b8f1129ba91a2057b', 6, 6, 1748952000000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (13, 1, 'lin_2ad7a45b8f1129ba91a2057c', 7, 5, 1751544000000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (14, 1, 'lin_2ad7a45b8f1129ba91a2057d', 7, 6, 1751544000000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (15, 1, 'lin_2ad7a45b8f1129ba91a2057e', 8, 5, 1754222400000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (16, 1, 'lin_2ad7a45b8f1129ba91a2057f', 8, 6, 1754222400000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (17, 1, 'lin_2ad7a45b8f1129ba91a20580', 9, 5, 1756900800000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (18, 1, 'lin_2ad7a45b8f1129ba91a20581', 9, 6, 1756900800000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (19, 1, 'lin_2ad7a45b8f1129ba91a20582', 10, 5, 1759492800000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (20, 1, 'lin_2ad7a45b8f1129ba91a20583', 10, 6, 1759492800000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (21, 1, 'lin_2ad7a45b8f1129ba91a20584', 11, 5, 1762171200000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (22, 1, 'lin_2ad7a45b8f1129ba91a20585', 11, 6, 1762171200000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (23, 1, 'lin_2ad7a45b8f1129ba91a20586', 12, 5, 1764763200000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (24, 1, 'lin_2ad7a45b8f1129ba91a20587', 12, 6, 1764763200000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (25, 2, 'lin_79c41ed39633920d92cc7b45', 13, 12, 1735905600000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (26, 2, 'lin_79c41ed39633920d92cc7b46', 13, 13, 1735905600000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (27, 2, 'lin_79c41ed39633920d92cc7b47', 14, 12, 1738584000000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (28, 2, 'lin_79c41ed39633920d92cc7b48', 14, 13, 1738584000000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (29, 2, 'lin_79c41ed39633920d92cc7b49', 15, 12, 1741003200000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (30, 2, 'lin_79c41ed39633920d92cc7b4a', 15, 13, 1741003200000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (31, 2, 'lin_79c41ed39633920d92cc7b4b', 16, 12, 1743681600000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (32, 2, 'lin_79c41ed39633920d92cc7b4c', 16, 13, 1743681600000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (33, 2, 'lin_79c41ed39633920d92cc7b4d', 17, 12, 1746273600000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (34, 2, 'lin_79c41ed39633920d92cc7b4e', 17, 13, 1746273600000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (35, 2, 'lin_79c41ed39633920d92cc7b4f', 18, 12, 1748952000000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (36, 2, 'lin_79c41ed39633920d92cc7b50', 18, 13, 1748952000000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (37, 2, 'lin_79c41ed39633920d92cc7b51', 19, 12, 1751544000000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (38, 2, 'lin_79c41ed39633920d92cc7b52', 19, 13, 1751544000000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (39, 2, 'lin_79c41ed39633920d92cc7b53', 20, 12, 1754222400000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (40, 2, 'lin_79c41ed39633920d92cc7b54', 20, 13, 1754222400000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (41, 2, 'lin_79c41ed39633920d92cc7b55', 21, 12, 1756900800000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (42, 2, 'lin_79c41ed39633920d92cc7b56', 21, 13, 1756900800000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (43, 2, 'lin_79c41ed39633920d92cc7b57', 22, 12, 1759492800000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (44, 2, 'lin_79c41ed39633920d92cc7b58', 22, 13, 1759492800000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (45, 2, 'lin_79c41ed39633920d92cc7b59', 23, 12, 1762171200000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (46, 2, 'lin_79c41ed39633920d92cc7b5a', 23, 13, 1762171200000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (47, 2, 'lin_79c41ed39633920d92cc7b5b', 24, 12, 1764763200000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (48, 2, 'lin_79c41ed39633920d92cc7b5c', 24, 13, 1764763200000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (6, 1, 'lin_2ad7a45b8f1129ba91a20575', 3, 7, 1741003200000000, 'debit', 0, 1234567, 'weekly');


--
-- Data for Name: line_entry_tags; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.line_entry_tags VALUES (1, 1);
INSERT INTO public.line_entry_tags VALUES (3, 1);
INSERT INTO public.line_entry_tags VALUES (5, 1);
INSERT INTO public.line_entry_tags VALUES (7, 1);
INSERT INTO public.line_entry_tags VALUES (9, 1);
INSERT INTO public.line_entry_tags VALUES (11, 1);
INSERT INTO public.line_entry_tags VALUES (13, 1);
INSERT INTO public.line_entry_tags VALUES (15, 1);
INSERT INTO public.line_entry_tags VALUES (17, 1);
INSERT INTO public.line_entry_tags VALUES (19, 1);
INSERT INTO public.line_entry_tags VALUES (21, 1);
INSERT INTO public.line_entry_tags VALUES (23, 1);
INSERT INTO public.line_entry_tags VALUES (25, 2);
INSERT INTO public.line_entry_tags VALUES (27, 2);
INSERT INTO public.line_entry_tags VALUES (29, 2);
INSERT INTO public.line_entry_tags VALUES (31, 2);
INSERT INTO public.line_entry_tags VALUES (33, 2);
INSERT INTO public.line_entry_tags VALUES (35, 2);
INSERT INTO public.line_entry_tags VALUES (37, 2);
INSERT INTO public.line_entry_tags VALUES (39, 2);
INSERT INTO public.line_entry_tags VALUES (41, 2);
INSERT INTO public.line_entry_tags VALUES (43, 2);
INSERT INTO public.line_entry_tags VALUES (45, 2);
INSERT INTO public.line_entry_tags VALUES (47, 2);


--
-- Data for Name: settings; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.settings VALUES ('schema_version', '\x34');
INSERT INTO public.settings VALUES ('page_token_key', '\xfa61250d8ad5910adf573c9aef194ad7bacf88e1a73cec4fe104b64999d6f46a');


--
-- Data for Name: tag_groups; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tag_groups VALUES (1, 1, 'tgr_464f523721bcd97404dbaaf7', 'class');
INSERT INTO public.tag_groups VALUES (2, 2, 'tgr_65bf0bb382f98e439f671ad8', 'class');


--
-- Data for Name: tags; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tags VALUES (1, 1, 'tag_0c38edcaee3332af1c055840', 1, 'one');
INSERT INTO public.tags VALUES (2, 2, 'tag_2b1fd9fba9240a9e99958278', 2, 'one');


--
-- Data for Name: tokens; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tokens VALUES ('08dd85ccb201f24d', 1, NULL, '\xa2f8d06ad900d4c305e1eab1ce0df5c2e781d172cc09270e9eda5b9d3d84be07', 'nightly', 1795383067964047, NULL, NULL);


--
-- Data for Name: transactions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.transactions VALUES (1, 1, 'T1', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (3, 1, 'T2', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (7, 1, 'T4', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (9, 1, 'T5', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (11, 1, 'T6', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (13, 1, 'T7', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (15, 1, 'T8', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (17, 1, 'T9', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (19, 1, 'T10', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (21, 1, 'T11', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (23, 1, 'T12', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (25, 2, 'T1', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (27, 2, 'T2', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (29, 2, 'T3', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (31, 2, 'T4', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (33, 2, 'T5', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (35, 2, 'T6', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (37, 2, 'T7', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (39, 2, 'T8', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (41, 2, 'T9', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (43, 2, 'T10', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (45, 2, 'T11', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (47, 2, 'T12', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (5, 1, 'T3', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'user');


--
-- Name: audit_pk_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.audit_pk_seq', 1, true);


--
-- Name: instances_pk_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.instances_pk_seq', 2, true);


--
-- Name: journal_entries_pk_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.journal_entries_pk_seq', 1, false);


--
-- Name: ledgers_pk_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.ledgers_pk_seq', 14, true);


--
-- Name: line_entries_pk_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.line_entries_pk_seq', 1, false);


--
-- Name: tag_groups_pk_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.tag_groups_pk_seq', 2, true);


--
-- Name: tags_pk_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.tags_pk_seq', 2, true);


--
-- Name: audit audit_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (pk);


--
-- Name: cash_days cash_days_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.cash_days
    ADD CONSTRAINT cash_days_pkey PRIMARY KEY (ledger_pk, day);


--
-- Name: clients clients_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.clients
    ADD CONSTRAINT clients_pkey PRIMARY KEY (client_id);


--
-- Name: idempotency_keys idempotency_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (instance_pk, key);


--
-- Name: instances instances_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.instances
    ADD CONSTRAINT instances_id_key UNIQUE (id);


--
-- Name: instances instances_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.instances
    ADD CONSTRAINT instances_pkey PRIMARY KEY (pk);


--
-- Name: journal_entries journal_entries_instance_pk_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.journal_entries
    ADD CONSTRAINT journal_entries_instance_pk_id_key UNIQUE (instance_pk, id);


--
-- Name: journal_entries journal_entries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.journal_entries
    ADD CONSTRAINT journal_entries_pkey PRIMARY KEY (pk);


--
-- Name: ledgers ledgers_instance_pk_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ledgers
    ADD CONSTRAINT ledgers_instance_pk_id_key UNIQUE (instance_pk, id);


--
-- Name: ledgers ledgers_instance_pk_pk_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ledgers
    ADD CONSTRAINT ledgers_instance_pk_pk_key UNIQUE (instance_pk, pk);


--
-- Name: ledgers ledgers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ledgers
    ADD CONSTRAINT ledgers_pkey PRIMARY KEY (pk);


--
-- Name: line_entries line_entries_instance_pk_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.line_entries
    ADD CONSTRAINT line_entries_instance_pk_id_key UNIQUE (instance_pk, id);


--
-- Name: line_entries line_entries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.line_entries
    ADD CONSTRAINT line_entries_pkey PRIMARY KEY (pk);


--
-- Name: line_entry_tags line_entry_tags_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.line_entry_tags
    ADD CONSTRAINT line_entry_tags_pkey PRIMARY KEY (line_entry_pk, tag_pk);


--
-- Name: settings settings_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (name);


--
-- Name: tag_groups tag_groups_instance_pk_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tag_groups
    ADD CONSTRAINT tag_groups_instance_pk_id_key UNIQUE (instance_pk, id);


--
-- Name: tag_groups tag_groups_instance_pk_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tag_groups
    ADD CONSTRAINT tag_groups_instance_pk_name_key UNIQUE (instance_pk, name);


--
-- Name: tag_groups tag_groups_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tag_groups
    ADD CONSTRAINT tag_groups_pkey PRIMARY KEY (pk);


--
-- Name: tags tags_instance_pk_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tags
    ADD CONSTRAINT tags_instance_pk_id_key UNIQUE (instance_pk, id);


--
-- Name: tags tags_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tags
    ADD CONSTRAINT tags_pkey PRIMARY KEY (pk);


--
-- Name: tags tags_tag_group_pk_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tags
    ADD CONSTRAINT tags_tag_group_pk_name_key UNIQUE (tag_group_pk, name);


--
-- Name: tokens tokens_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (key);


--
-- Name: transactions transactions_instance_pk_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.transactions
    ADD CONSTRAINT transactions_instance_pk_id_key UNIQUE (instance_pk, id);


--
-- Name: transactions transactions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.transactions
    ADD CONSTRAINT transactions_pkey PRIMARY KEY (line_entry_pk);


--
-- Name: audit_of_transaction; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_of_transaction ON public.audit USING btree (instance_pk, transaction_id);


--
-- Name: ix_tokens_client_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_tokens_client_id ON public.tokens USING btree (client_id);


--
-- Name: line_entries_of_journal_entry; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX line_entries_of_journal_entry ON public.line_entries USING btree (journal_entry_pk);


--
-- Name: line_entries_of_ledger; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX line_entries_of_ledger ON public.line_entries USING btree (ledger_pk, datetime, id, high, low, journal_entry_pk);


--
-- Name: audit audit_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: cash_days cash_days_ledger_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.cash_days
    ADD CONSTRAINT cash_days_ledger_pk_fkey FOREIGN KEY (ledger_pk) REFERENCES public.ledgers(pk);


--
-- Name: clients clients_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.clients
    ADD CONSTRAINT clients_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: idempotency_keys idempotency_keys_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: journal_entries journal_entries_cash_ledger_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.journal_entries
    ADD CONSTRAINT journal_entries_cash_ledger_pk_fkey FOREIGN KEY (cash_ledger_pk) REFERENCES public.ledgers(pk);


--
-- Name: journal_entries journal_entries_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.journal_entries
    ADD CONSTRAINT journal_entries_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: ledgers ledgers_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ledgers
    ADD CONSTRAINT ledgers_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: ledgers ledgers_instance_pk_parent_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ledgers
    ADD CONSTRAINT ledgers_instance_pk_parent_pk_fkey FOREIGN KEY (instance_pk, parent_pk) REFERENCES public.ledgers(instance_pk, pk);


--
-- Name: line_entries line_entries_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.line_entries
    ADD CONSTRAINT line_entries_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: line_entries line_entries_instance_pk_ledger_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.line_entries
    ADD CONSTRAINT line_entries_instance_pk_ledger_pk_fkey FOREIGN KEY (instance_pk, ledger_pk) REFERENCES public.ledgers(instance_pk, pk);


--
-- Name: line_entries line_entries_journal_entry_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.line_entries
    ADD CONSTRAINT line_entries_journal_entry_pk_fkey FOREIGN KEY (journal_entry_pk) REFERENCES public.journal_entries(pk);


--
-- Name: line_entry_tags line_entry_tags_line_entry_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.line_entry_tags
    ADD CONSTRAINT line_entry_tags_line_entry_pk_fkey FOREIGN KEY (line_entry_pk) REFERENCES public.line_entries(pk);


--
-- Name: line_entry_tags line_entry_tags_tag_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.line_entry_tags
    ADD CONSTRAINT line_entry_tags_tag_pk_fkey FOREIGN KEY (tag_pk) REFERENCES public.tags(pk);


--
-- Name: tag_groups tag_groups_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tag_groups
    ADD CONSTRAINT tag_groups_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: tags tags_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tags
    ADD CONSTRAINT tags_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: tags tags_tag_group_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tags
    ADD CONSTRAINT tags_tag_group_pk_fkey FOREIGN KEY (tag_group_pk) REFERENCES public.tag_groups(pk);


--
-- Name: tokens tokens_client_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_client_id_fkey FOREIGN KEY (client_id) REFERENCES public.clients(client_id);


--
-- Name: tokens tokens_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: transactions transactions_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.transactions
    ADD CONSTRAINT transactions_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: transactions transactions_line_entry_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.transactions
    ADD CONSTRAINT transactions_line_entry_pk_fkey FOREIGN KEY (line_entry_pk) REFERENCES public.line_entries(pk);


--
-- PostgreSQL database dump complete
--


